//! The query languages as people write them, compared with tables of texts and their RPN, and with YAZ's reading of the same
//! texts.

mod between;
mod ccl;
mod cql;
mod pqf;
