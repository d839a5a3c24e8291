//! Tests the query languages as people write them, with tables of texts and their RPN, and with YAZ's interpretation of the
//! same texts.

mod between;
mod ccl;
mod cql;
mod pqf;
