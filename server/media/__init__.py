"""Files that a turn shows: pictures, sound, documents."""
