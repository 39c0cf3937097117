//! A loss of power: what was written but not made durable is dropped, kept or torn. The old world is left as it is.

use super::world::{Body, Inode, LockState, Node, ROOT, World};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// What happens to directory entries (creations, renames, links, removals) of directories that were not synced since.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entries {
    /// They are as they were at the last sync.
    Lost,
    /// They reached the disk all the same.
    Kept,
}

/// What happens to the content of files that were not synced since.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// It is as it was at the last sync; empty if there was none.
    Lost,
    /// Of what was appended, the first half reached the disk (of any other content, its first half).
    Torn,
    /// It reached the disk all the same.
    Kept,
}

/// One way to lose power.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Crash {
    /// Of directories.
    pub entries: Entries,
    /// Of files.
    pub content: Content,
}

impl Crash {
    /// Every way; a durable write must come out whole, old or new, in each.
    pub const ALL: [Crash; 6] = [
        Crash { entries: Entries::Lost, content: Content::Lost },
        Crash { entries: Entries::Lost, content: Content::Torn },
        Crash { entries: Entries::Lost, content: Content::Kept },
        Crash { entries: Entries::Kept, content: Content::Lost },
        Crash { entries: Entries::Kept, content: Content::Torn },
        Crash { entries: Entries::Kept, content: Content::Kept },
    ];
}

impl World {
    /// The world after the power came back: locks are free, log and hook are gone, handles of the old world are bad.
    pub(super) fn after(&self, crash: Crash) -> World {
        let mut nodes: BTreeMap<Inode, Node> = self.nodes.clone();
        for node in nodes.values_mut() {
            node.body = survivor(&node.body, &node.durable, crash);
            node.durable = node.body.clone();
            node.lock = LockState::Free;
            node.names = 0;
        }
        recount(&mut nodes);
        nodes.retain(|inode, node| node.names > 0 || *inode == self.working);
        World {
            id: World::new_id(),
            nodes,
            next: self.next,
            wall: self.wall,
            monotonic: self.monotonic,
            stamp: self.stamp,
            random: self.random,
            user: self.user,
            home: self.home.clone(),
            working: self.working,
            answers: self.answers.clone(),
            questions: self.questions.clone(),
            ancestors: self.ancestors.clone(),
            window: self.window,
            step: String::new(),
            log: Vec::new(),
            calls: 0,
            hook: None,
            script: self.script.clone(),
        }
    }
}

fn survivor(live: &Body, durable: &Body, crash: Crash) -> Body {
    match (live, durable) {
        (Body::Directory(_), _) if crash.entries == Entries::Lost => durable.clone(),
        (Body::File(live), Body::File(synced)) => match crash.content {
            Content::Lost => durable.clone(),
            Content::Torn => Body::File(Arc::new(torn(live, synced))),
            Content::Kept => Body::File(Arc::clone(live)),
        },
        _ => live.clone(),
    }
}

fn torn(live: &[u8], synced: &[u8]) -> Vec<u8> {
    if live == synced {
        return live.to_vec();
    }
    let (kept, rest) = live.strip_prefix(synced).map_or((&[][..], live), |rest| (synced, rest));
    kept.iter().chain(rest.iter().take(rest.len() / 2)).copied().collect()
}

/// Counts the names of everything that can still be reached from `/`.
fn recount(nodes: &mut BTreeMap<Inode, Node>) {
    let mut pending = VecDeque::from([ROOT]);
    while let Some(inode) = pending.pop_front() {
        let Some(node) = nodes.get_mut(&inode) else { continue };
        node.names += 1;
        if let (1, Body::Directory(entries)) = (node.names, &node.body) {
            pending.extend(entries.values().copied());
        }
    }
}
