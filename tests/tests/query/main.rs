//! The query languages as people write them, against tables of texts and their RPN, and against what YAZ makes
//! of the same texts.

mod between;
mod ccl;
mod cql;
mod pqf;
