"""The tables of the product, their versions, what leases of rows have in common, and copies of it all."""
