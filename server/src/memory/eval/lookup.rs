//! The records of one index lookup.

use crate::memory::attributes::{Look, LookTarget, WordLook, WordOrder};
use crate::memory::fields::IndexId;
use crate::memory::hits::HitSet;
use crate::memory::index::{Exhausted, Index, Pattern, Terms, Work};

/// The records that a lookup finds.
///
/// # Errors
/// If the work is exhausted.
pub(super) fn records<'a>(
    index: &'a Index,
    look: &Look<'_>,
    work: &mut Work,
) -> Result<HitSet<'a>, Exhausted> {
    let found = match &look.target {
        LookTarget::Having(of) => having(index, *of, work)?,
        LookTarget::Docid(docid) => index.docid(docid),
        LookTarget::Entries(terms, wanted) => any_of(index, *terms, wanted, work)?,
        LookTarget::Words(WordLook {
            index: of,
            words,
            order,
        }) => match order {
            WordOrder::Phrase(edges) => index.phrase(*of, words, *edges, work)?,
            WordOrder::Some => any_of(index, Terms::Words(*of), words, work)?,
            WordOrder::All => {
                let mut all: Option<HitSet<'a>> = None;
                for word in words {
                    let found = index.find(Terms::Words(*of), word, work)?;
                    all = Some(match all {
                        Some(all) => all.and(found),
                        None => found,
                    });
                    if all.as_ref().is_some_and(HitSet::is_empty) {
                        break;
                    }
                }
                all.unwrap_or_else(HitSet::empty)
            }
        },
    };
    Ok(match look.negated {
        true => having(index, look.target.index(), work)?.and_not(found),
        false => found,
    })
}

/// The records with an entry in the index; all records, for that of docids and that of everything.
fn having<'a>(index: &'a Index, of: IndexId, work: &mut Work) -> Result<HitSet<'a>, Exhausted> {
    match of {
        IndexId::DOCID | IndexId::ANY => Ok(index.all()),
        of => index.having(of, work),
    }
}

fn any_of<'a>(
    index: &'a Index,
    terms: Terms,
    wanted: &[Pattern],
    work: &mut Work,
) -> Result<HitSet<'a>, Exhausted> {
    let mut any = HitSet::empty();
    for one in wanted {
        any = any.or(index.find(terms, one, work)?);
    }
    Ok(any)
}
