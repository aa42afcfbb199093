"""What commands print: sessions as lines, as a page, as JSON."""
