//! Tests of the query languages: tables of queries with their RPN, compared with YAZ's interpretation of the same queries.

mod between;
mod ccl;
mod cql;
mod pqf;
