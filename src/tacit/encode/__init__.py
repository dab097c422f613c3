"""From records to codes: tables in, validation at the door, draws, codes out."""
