"""An event as a row of the log: how it is written, sealed to the row before, and erased."""
