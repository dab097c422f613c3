"""What questions will answer before anything is collected: errors to expect, verdicts, and designs for questions."""
