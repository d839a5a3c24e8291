//! Records of several catalogues that describe one edition: the rule, and clusters of such records.
//! The tags are those of MARC 21 and UNIMARC.

mod edition;
mod text;

use std::collections::HashMap;

pub use self::edition::Edition;

/// The most records of a cluster. Further records of the same edition begin another one.
const MAX_MEMBERS: usize = 64;

/// The most clusters with the same key, and the most to which a record is compared.
const MAX_COMPARED: usize = 32;

/// The records as clusters of one edition each, in the order of their first records; numbers count from 0. A record joins the first
/// cluster of which it [is the same edition](Edition::is_same) as one member and [contradicts](Edition::contradicts) none. Records
/// without an edition (`None`) stay alone.
pub fn clusters(editions: &[Option<Edition>]) -> Vec<Vec<usize>> {
    let mut clusters: Vec<Vec<usize>> = Vec::new();
    let mut by_key: HashMap<&str, Vec<usize>> = HashMap::new();
    for (number, edition) in editions.iter().enumerate() {
        let Some(edition) = edition else {
            clusters.push(vec![number]);
            continue;
        };
        let known = edition.keys().filter_map(|key| by_key.get(key));
        let mut candidates: Vec<usize> = known.flatten().copied().collect();
        candidates.sort_unstable();
        candidates.dedup();
        candidates.truncate(MAX_COMPARED);
        let joined = candidates.into_iter().find(|candidate| {
            let members = clusters.get(*candidate).map_or(&[][..], Vec::as_slice);
            takes(members, editions, edition)
        });
        let cluster = joined.unwrap_or(clusters.len());
        match clusters.get_mut(cluster) {
            Some(members) => members.push(number),
            None => clusters.push(vec![number]),
        }
        for key in edition.keys() {
            let known = by_key.entry(key).or_default();
            if known.len() < MAX_COMPARED && !known.contains(&cluster) {
                known.push(cluster);
            }
        }
    }
    clusters
}

/// Whether a cluster of these members has room for an edition, and is of it.
fn takes(members: &[usize], editions: &[Option<Edition>], edition: &Edition) -> bool {
    let of_members = || {
        let members = members.iter().filter_map(|member| editions.get(*member));
        members.filter_map(Option::as_ref)
    };
    members.len() < MAX_MEMBERS
        && of_members().any(|member| member.is_same(edition))
        && !of_members().any(|member| member.contradicts(edition))
}

#[cfg(test)]
mod tests;
