"""From views to tables: consistency, non-negativity, maximum entropy, and rows made of them."""
