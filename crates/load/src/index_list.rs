//! A list of small numbers with O(1) removal at any position, and no allocation per change.
//!
//! The driver keeps the requests in flight in it, in the order of their start. All share one
//! timeout, so the first one is always the next to time out, however many thousand there are.

/// A doubly linked list over the numbers `0..len`; each number is in it at most once.
#[derive(Debug, Default)]
pub(crate) struct IndexList {
    links: Vec<Link>,
    first: Option<u32>,
    last: Option<u32>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Link {
    before: Option<u32>,
    after: Option<u32>,
    linked: bool,
}

impl IndexList {
    /// Appends `number`, which must not be in the list.
    pub(crate) fn push(&mut self, number: u32) {
        let index = number as usize;
        if index >= self.links.len() {
            self.links.resize(index + 1, Link::default());
        }
        debug_assert!(!self.links[index].linked, "{number} is in the chain already");
        self.links[index] = Link { before: self.last, after: None, linked: true };
        match self.last {
            Some(last) => self.links[last as usize].after = Some(number),
            None => self.first = Some(number),
        }
        self.last = Some(number);
    }

    /// Removes `number`; does nothing when it is not in the list.
    pub(crate) fn remove(&mut self, number: u32) {
        let Some(link) = self.links.get(number as usize).copied().filter(|link| link.linked) else {
            return;
        };
        match link.before {
            Some(before) => self.links[before as usize].after = link.after,
            None => self.first = link.after,
        }
        match link.after {
            Some(after) => self.links[after as usize].before = link.before,
            None => self.last = link.before,
        }
        self.links[number as usize].linked = false;
    }

    /// The number that has been in the list for longest; `None` when the list is empty.
    pub(crate) fn first(&self) -> Option<u32> {
        self.first
    }

    /// The number that was added last; `None` when the list is empty.
    pub(crate) fn last(&self) -> Option<u32> {
        self.last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(chain: &IndexList) -> Vec<u32> {
        let mut at = chain.first();
        std::iter::from_fn(|| {
            let here = at?;
            at = chain.links[here as usize].after;
            Some(here)
        })
        .collect()
    }

    #[test]
    fn removal_keeps_the_order_of_the_others() {
        let mut chain = IndexList::default();
        [3, 0, 2, 5].into_iter().for_each(|number| chain.push(number));
        assert_eq!(listed(&chain), [3, 0, 2, 5]);
        chain.remove(0);
        chain.remove(5);
        chain.remove(5);
        assert_eq!((listed(&chain), chain.last()), (vec![3, 2], Some(2)));
        chain.remove(3);
        chain.remove(2);
        assert_eq!((chain.first(), chain.last()), (None, None));
        chain.push(3);
        assert_eq!(listed(&chain), [3]);
    }
}
