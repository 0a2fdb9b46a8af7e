"""Skills under edit: their files with undo and bin, and edits that are not saved yet."""
