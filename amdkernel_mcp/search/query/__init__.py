"""From a query to ranked sections with snippets."""
