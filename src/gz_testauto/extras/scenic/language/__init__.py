"""The part of Scenic's language that scenarios may use here, and the errors for the other part."""
