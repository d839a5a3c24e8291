//! Tests of `z3950d` in front of real nodes of OpenSearch.

mod setup;
