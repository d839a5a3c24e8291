//! Decides the order in which jobs run. A small number of jobs run at the same time; each of them occupies one of a few places
//! for one slice of work at a time. This module does not use threads or clocks.
//!
//! A job counts as short at first, and as longer after certain numbers of slices. Shorter jobs run first, so that a query of a
//! few milliseconds does not wait for queries that take seconds. Jobs of the same length run in the order in which they reached
//! that length. Every few turns, the job that has waited longest runs first, so that long jobs always make progress. A caller can
//! only have one job in progress at a time.

use std::collections::HashMap;
use std::net::IpAddr;

use crate::backend::Caller;

/// The jobs that have a place or are waiting for one.
#[derive(Debug)]
pub(super) struct Turns {
    /// The number of free places.
    free: usize,
    /// The number of turns given so far.
    given: u64,
    /// A counter that is incremented each time a job begins to wait; its values order the jobs.
    arrivals: u64,
    /// The jobs in the order of arrival.
    jobs: Vec<Job>,
}

/// The identifier of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Ticket(u64);

#[derive(Debug)]
struct Job {
    ticket: Ticket,
    caller: Caller,
    state: JobState,
    /// The number of slices that the job has done.
    slices: u64,
    /// The value of the arrival counter when the job arrived, became longer, or was put behind the jobs of other callers.
    since: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum JobState {
    /// The job is waiting and has not begun.
    Queued,
    /// The job has begun, but is waiting for a place.
    Paused,
    /// The job has a place.
    Working,
}

/// The number of long jobs: searches, scans and sorts that take more than a few milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct JobCounts {
    /// The number of jobs that have a place.
    pub running: usize,
    /// The number of jobs that are waiting for a place.
    pub waiting: usize,
    /// The number of places: the maximum number of jobs that run at once.
    pub places: usize,
}

/// The numbers of slices after which a job counts as longer: about 50 and 200 ms. Among the longest jobs, the job that reached
/// this length first runs until it is finished.
const LENGTHS: [u64; 2] = [5, 20];
/// The number of turns in a period; in each period, the job that has waited longest gets one turn.
const TURNS_TO_THE_OLDEST: u64 = 4;
/// The maximum number of jobs in progress. Each of them has a thread, and keeps its intermediate results.
const MOST_BEGUN: usize = 128;
/// The maximum number of jobs in progress from one address, so that an address cannot prevent all others from beginning.
const MOST_BEGUN_OF_ADDRESS: usize = 32;

impl Job {
    fn length(&self) -> usize {
        LENGTHS.iter().filter(|from| self.slices >= **from).count()
    }
}

impl Turns {
    pub(super) fn new(places: usize) -> Self {
        Self {
            free: places,
            given: 0,
            arrivals: 0,
            jobs: Vec::new(),
        }
    }

    pub(super) fn counts(&self) -> JobCounts {
        let working = self
            .jobs
            .iter()
            .filter(|job| job.state == JobState::Working);
        let running = working.count();
        JobCounts {
            running,
            waiting: self.jobs.len() - running,
            places: self.free + running,
        }
    }

    /// Adds a job, which waits for a place.
    pub(super) fn enter(&mut self, caller: Caller) -> Ticket {
        self.arrivals += 1;
        let ticket = Ticket(self.arrivals);
        self.jobs.push(Job {
            ticket,
            caller,
            state: JobState::Queued,
            slices: 0,
            since: self.arrivals,
        });
        ticket
    }

    /// Takes the place away from a job, which has done `slices` more slices and now waits again.
    pub(super) fn pause(&mut self, ticket: Ticket, slices: u64) {
        let mut jobs = self.jobs.iter_mut();
        let Some(job) = jobs.find(|job| job.ticket == ticket && job.state == JobState::Working)
        else {
            return;
        };
        let before = job.length();
        job.slices = job.slices.saturating_add(slices);
        job.state = JobState::Paused;
        if job.length() > before {
            self.arrivals += 1;
            job.since = self.arrivals;
        }
        self.free += 1;
    }

    /// Removes a job.
    pub(super) fn leave(&mut self, ticket: Ticket) {
        let mut jobs = self.jobs.iter();
        if let Some(index) = jobs.position(|job| job.ticket == ticket) {
            let Job { caller, state, .. } = self.jobs.remove(index);
            self.free += usize::from(state == JobState::Working);
            if state == JobState::Queued {
                return;
            }
            // Callers that are already waiting go before the next job of this caller.
            let next = self.jobs.iter_mut().filter(|job| job.caller == caller);
            for job in next {
                self.arrivals += 1;
                job.since = self.arrivals;
            }
        }
    }

    /// Gives a free place to the next job; returns `None` if there is no free place or no waiting job.
    pub(super) fn next(&mut self) -> Option<Ticket> {
        if self.free == 0 {
            return None;
        }
        let begun = self.jobs.iter().filter(|job| job.state != JobState::Queued);
        let busy: Vec<Caller> = begun.map(|job| job.caller.clone()).collect();
        let mut of_address: HashMap<Option<IpAddr>, usize> = HashMap::new();
        for caller in &busy {
            *of_address.entry(caller.address()).or_default() += 1;
        }
        let has_room = |caller: &Caller| {
            let begun = of_address.get(&caller.address());
            begun.is_none_or(|begun| *begun < MOST_BEGUN_OF_ADDRESS)
        };
        let may_go = |job: &&mut Job| match job.state {
            JobState::Queued => {
                busy.len() < MOST_BEGUN && has_room(&job.caller) && !busy.contains(&job.caller)
            }
            JobState::Paused => true,
            JobState::Working => false,
        };
        let is_for_the_oldest = (self.given + 1).is_multiple_of(TURNS_TO_THE_OLDEST);
        let waiting = self.jobs.iter_mut().filter(may_go);
        let next = waiting.min_by_key(|job| {
            if is_for_the_oldest {
                (0, job.since)
            } else {
                (job.length(), job.since)
            }
        })?;
        next.state = JobState::Working;
        self.free -= 1;
        self.given += 1;
        Some(next.ticket)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs jobs in this number of places. A job is a letter, the number of its caller, the number of slices that it needs, and
    /// the number of slices done before it arrives. Returns the letters of the jobs to which the slices belonged, in the order of
    /// the slices.
    fn order(places: usize, jobs: &[(char, usize, u64, usize)]) -> String {
        let callers: Vec<Caller> = (0..10).map(|_| Caller::new()).collect();
        let mut turns = Turns::new(places);
        let mut waiting = Vec::new();
        let mut order = String::new();
        for done in 0.. {
            for (letter, caller, slices, arrives) in jobs {
                if *arrives == done {
                    waiting.push((turns.enter(callers[*caller].clone()), *letter, *slices));
                }
            }
            let given: Vec<_> = std::iter::from_fn(|| turns.next()).collect();
            assert!(given.len() <= places);
            if given.is_empty() {
                break;
            }
            for ticket in given {
                let at = waiting
                    .iter()
                    .position(|(known, ..)| *known == ticket)
                    .expect("a job that waits");
                order.push(waiting[at].1);
                waiting[at].2 -= 1;
                match waiting[at].2 {
                    0 => {
                        turns.leave(ticket);
                        waiting.remove(at);
                    }
                    _ => turns.pause(ticket, 1),
                }
            }
        }
        assert!(waiting.is_empty() && turns.jobs.is_empty());
        assert_eq!(turns.free, places);
        order
    }

    #[test]
    fn shorter_jobs_go_first_and_all_make_progress() {
        for (jobs, expected) in [
            // Jobs of similar length are done in the order of their arrival.
            (
                &[('a', 0, 2, 0), ('b', 1, 2, 0), ('c', 2, 1, 0)][..],
                "aabbc",
            ),
            // The first job of each session comes before the second job of any session.
            (&[('a', 0, 2, 0), ('a', 0, 2, 0), ('b', 1, 1, 0)], "aabaa"),
            // A job that turns out to be longer lets shorter jobs pass.
            (&[('a', 0, 7, 0), ('b', 1, 2, 0)], "aaaaabbaa"),
            // Every fourth turn goes to the oldest job.
            (
                &[('a', 0, 12, 0), ('b', 1, 4, 8), ('c', 2, 4, 8)],
                "aaaaaaaabbbabccaccaa",
            ),
            // The short job arrives while long jobs are in progress.
            (
                &[('a', 0, 9, 0), ('b', 1, 9, 0), ('c', 2, 2, 12)],
                "aaaaabbbbbaaccaabbbb",
            ),
        ] {
            assert_eq!(order(1, jobs), expected, "{jobs:?}");
        }
    }

    #[test]
    fn a_caller_has_one_job_in_progress() {
        let jobs = [
            ('a', 0, 2, 0),
            ('a', 0, 2, 0),
            ('b', 1, 2, 0),
            ('c', 2, 1, 0),
        ];
        assert_eq!(order(2, &jobs), "ababcaa");
        assert_eq!(order(1, &jobs), "aabbcaa");
    }

    /// Returns a caller from a distinct address.
    fn from(address: usize) -> Caller {
        let address = u8::try_from(address).expect("few addresses");
        Caller::new().with_address([192, 0, 2, address].into())
    }

    #[test]
    fn jobs_of_one_address_in_progress_are_limited() {
        let mut turns = Turns::new(1);
        for _ in 0..=MOST_BEGUN_OF_ADDRESS {
            turns.enter(from(1));
        }
        let other = turns.enter(from(2));
        let begun = MOST_BEGUN_OF_ADDRESS as u64;
        for _ in 0..begun {
            let ticket = turns.next().expect("a job");
            assert!(ticket.0 <= begun);
            turns.pause(ticket, LENGTHS[1]);
        }
        // The next job of the address waits until one of its jobs in progress ends.
        assert_eq!(turns.next(), Some(other));
        turns.leave(other);
        let first = turns.next().expect("a job that goes on");
        assert_eq!(first, Ticket(1));
        turns.leave(first);
        assert_eq!(turns.next(), Some(Ticket(begun + 1)));
    }

    #[test]
    fn jobs_in_progress_are_limited() {
        let mut turns = Turns::new(1);
        for job in 0..=MOST_BEGUN {
            turns.enter(from(job / MOST_BEGUN_OF_ADDRESS));
        }
        for _ in 0..MOST_BEGUN {
            let ticket = turns.next().expect("a job");
            turns.pause(ticket, LENGTHS[1]);
        }
        let first = turns.next().expect("the last one waits for another to end");
        assert_eq!(first, Ticket(1));
        turns.leave(first);
        assert_eq!(
            turns.next().map(|ticket| ticket.0),
            Some(MOST_BEGUN as u64 + 1)
        );
    }

    #[test]
    fn jobs_are_counted() {
        let mut turns = Turns::new(2);
        let caller = Caller::new();
        let [first, second] = [(); 2].map(|()| turns.enter(caller.clone()));
        let check = |turns: &Turns, running, waiting| {
            let counts = turns.counts();
            assert_eq!(
                (counts.running, counts.waiting, counts.places),
                (running, waiting, 2)
            );
        };
        check(&turns, 0, 2);
        assert_eq!((turns.next(), turns.next()), (Some(first), None));
        check(&turns, 1, 1);
        turns.enter(Caller::new());
        assert!(turns.next().is_some());
        check(&turns, 2, 1);
        turns.pause(first, 1);
        check(&turns, 1, 2);
        turns.leave(second);
        check(&turns, 1, 1);
    }

    #[test]
    fn jobs_leave_in_any_state() {
        let mut turns = Turns::new(1);
        let [one, other, third] = [(); 3].map(|()| turns.enter(Caller::new()));
        assert_eq!(turns.next(), Some(one));
        turns.leave(other);
        assert_eq!(turns.next(), None);
        turns.pause(one, 1);
        turns.leave(one);
        assert_eq!(turns.free, 1);
        assert_eq!(turns.next(), Some(third));
        turns.leave(third);
        turns.leave(third);
        assert_eq!((turns.free, turns.next()), (1, None));
    }
}
