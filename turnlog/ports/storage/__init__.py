"""What a store keeps: a file for each of its faces, with the values that cross."""
