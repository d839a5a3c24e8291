//! Tests of `z3950d` in front of a real node with Koha's index.

mod index;
