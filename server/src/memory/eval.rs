//! The evaluation of queries: operands from the indexes, operators on sets and positions (Z39.50-2003 §3.7.1, §3.7.2).

mod proximity;
mod tree;

#[cfg(test)]
mod tests;

pub(super) use self::tree::{Evaluated, find};
