//! Tests of the query languages with tables of queries and their RPN, which are compared with YAZ's interpretation of the same
//! queries.

mod between;
mod ccl;
mod cql;
mod pqf;
