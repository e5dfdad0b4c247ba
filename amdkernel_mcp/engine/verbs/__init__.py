"""One file for each verb; `table.py` lists them."""
