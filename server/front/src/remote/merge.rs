//! Groups records from several catalogues into clusters of records that describe the same edition. The records are in MARC 21
//! or UNIMARC.

mod edition;
mod text;

use std::collections::HashMap;

pub use self::edition::Edition;

/// The maximum number of records in a cluster. Further records of the edition begin another cluster.
const MAX_MEMBERS: usize = 64;

/// The maximum number of clusters with the same key, and of clusters that are compared with a record.
const MAX_COMPARED: usize = 32;

/// Groups the records into clusters of one edition each, in the order of their first records; records are numbered from 0. A
/// record joins the first cluster in which it [is of the same edition](Edition::is_same) as at least one member and does not
/// [contradict](Edition::contradicts) any member. A record without an edition (`None`) is the only record of its cluster.
pub fn clusters(editions: &[Option<Edition>]) -> Vec<Vec<usize>> {
    let mut clustering = Clustering::default();
    for edition in editions {
        clustering.add(edition.clone());
    }
    clustering.clusters
}

/// The clusters of the records added so far.
#[derive(Default)]
pub(super) struct Clustering {
    editions: Vec<Option<Edition>>,
    pub(super) clusters: Vec<Vec<usize>>,
    by_key: HashMap<String, Vec<usize>>,
}

impl Clustering {
    /// Adds the next record.
    pub(super) fn add(&mut self, edition: Option<Edition>) {
        let number = self.editions.len();
        let joined = edition.as_ref().and_then(|edition| self.joined(edition));
        let cluster = joined.unwrap_or(self.clusters.len());
        match self.clusters.get_mut(cluster) {
            Some(members) => members.push(number),
            None => self.clusters.push(vec![number]),
        }
        for key in edition.iter().flat_map(Edition::keys) {
            let known = self.by_key.entry(key.to_owned()).or_default();
            if known.len() < MAX_COMPARED && !known.contains(&cluster) {
                known.push(cluster);
            }
        }
        self.editions.push(edition);
    }

    /// Returns the cluster that a record of this edition joins; `None` if the record begins a new cluster.
    fn joined(&self, edition: &Edition) -> Option<usize> {
        let known = edition.keys().filter_map(|key| self.by_key.get(key));
        let mut candidates: Vec<usize> = known.flatten().copied().collect();
        candidates.sort_unstable();
        candidates.dedup();
        candidates.truncate(MAX_COMPARED);
        candidates
            .into_iter()
            .find(|candidate| self.takes(*candidate, edition))
    }

    /// Returns whether an edition can join a cluster: the cluster is not full, and its records are of the same edition.
    fn takes(&self, cluster: usize, edition: &Edition) -> bool {
        let members = self.clusters.get(cluster).map_or(&[][..], Vec::as_slice);
        let of_members = || {
            let members = members
                .iter()
                .filter_map(|member| self.editions.get(*member));
            members.filter_map(Option::as_ref)
        };
        members.len() < MAX_MEMBERS
            && !of_members().any(|member| member.contradicts(edition))
            && of_members().any(|member| member.agrees(edition))
    }
}

#[cfg(test)]
mod tests;
