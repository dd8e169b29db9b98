//! Formats a difference for people.

use std::collections::BTreeSet;
use std::ops::Range;

use super::Clock;
use super::align::align;
use super::fit::runs;
use super::volatile_region::{Tokenized, VolatileRegion};
use crate::natural::{Token, TokenKind};

/// The difference between an answer and the reference's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Lines of the reference with `-` and of the other answer with `+`; `…` stands for what
    /// varies.
    pub text: String,
    /// Words that only the reference has; users' tokens first.
    pub missing: Vec<String>,
    /// Words that only the other answer has; users' tokens first.
    pub extra: Vec<String>,
    /// Whether the answers were compared to their end.
    pub is_whole: bool,
}

impl Difference {
    /// Whether the other answer has a user's token that the reference's lacks. That is certain even
    /// where the answers were not compared to their end.
    pub fn shows_user(&self) -> bool {
        self.extra.iter().any(|word| crate::natural::user_tokens(word).next().is_some())
    }
}

/// Returns the difference of answers that fit, if a gap contains another user's token than it
/// should; otherwise `None`.
pub fn user_difference(
    ours: Tokenized,
    gaps: &[VolatileRegion],
    theirs: Tokenized,
    filled: &[Range<usize>],
) -> Option<Difference> {
    let known =
        UserTokens { ours: user_tokens(ours, ours.1), theirs: user_tokens(theirs, theirs.1) };
    let is_strange = |(gap, there): (&VolatileRegion, &Range<usize>)| {
        !known.agree((ours.0, &ours.1[gap.range.clone()]), (theirs.0, &theirs.1[there.clone()]))
    };
    let strange: Vec<bool> = gaps.iter().zip(filled).map(is_strange).collect();
    if !strange.contains(&true) {
        return None;
    }
    let mut pieces = Pieces::default();
    let mut gaps = gaps.iter().zip(filled).zip(strange);
    for run in
        runs(ours.1.len(), &gaps.clone().map(|((gap, _), _)| gap.clone()).collect::<Vec<_>>())
    {
        for token in &ours.1[run] {
            match token.kind {
                TokenKind::Natural(_) => pieces.add_varying(),
                _ => pieces.add(Piece::Same, token, ours.0),
            }
        }
        match gaps.next() {
            Some(((gap, there), true)) => {
                pieces.add_all(Piece::Ours, ours, gap.range.clone());
                pieces.add_all(Piece::Theirs, theirs, there.clone());
            }
            Some(_) => pieces.add_varying(),
            None => {}
        }
    }
    let mut difference = pieces.end()?;
    // What varies stands beside the wrong tokens; it is not a part of the difference.
    let is_user = |word: &String| known.ours.contains(word) || known.theirs.contains(word);
    let both = difference.missing.clone();
    difference.missing.retain(|word| is_user(word) && !difference.extra.contains(word));
    difference.extra.retain(|word| is_user(word) && !both.contains(word));
    Some(difference)
}

/// The users' tokens of both answers.
struct UserTokens {
    ours: BTreeSet<String>,
    theirs: BTreeSet<String>,
}

impl UserTokens {
    /// Returns whether a gap contains the same tokens in both answers. A list without items lacks
    /// the tokens that each item would contain.
    fn agree(&self, here: Tokenized, there: Tokenized) -> bool {
        let (here, there) = (user_tokens(here, here.1), user_tokens(there, there.1));
        here == there
            || (here.is_empty() && there.is_subset(&self.ours))
            || (there.is_empty() && here.is_subset(&self.theirs))
    }
}

fn user_tokens(read: Tokenized, tokens: &[Token]) -> BTreeSet<String> {
    let users = tokens.iter().filter(|token| token.kind == TokenKind::User);
    users.map(|token| token.of(read.0).to_owned()).collect()
}

/// Returns the difference of answers that do not fit; `None` if nothing differs.
pub fn difference(
    ours: Tokenized,
    gaps: &[VolatileRegion],
    theirs: Tokenized,
    clock: &Clock,
) -> Option<Difference> {
    let known =
        UserTokens { ours: user_tokens(ours, ours.1), theirs: user_tokens(theirs, theirs.1) };
    let same = align(ours.1, gaps, theirs, clock, 1);
    let mut pieces = Pieces::default();
    let mut last = (0, 0);
    let mut gaps = gaps.iter().peekable();
    for (one, other) in same.into_iter().chain([(ours.1.len(), theirs.1.len())]) {
        let (mut here, there) = (last.0..one, last.1..other);
        let mut inside = Vec::new();
        while let Some(gap) = gaps.next_if(|gap| gap.range.start < one || gap.range.end <= one) {
            inside.push(gap);
        }
        // Only varying content lies between two fixed tokens.
        let is_gap = matches!(&inside[..], [gap] if gap.range == here);
        let varies = is_gap
            && inside[0].limits.allow(theirs.0, &theirs.1[there.clone()])
            && known.agree((ours.0, &ours.1[here.clone()]), (theirs.0, &theirs.1[there.clone()]));
        if varies {
            pieces.add_varying();
        } else {
            for gap in inside.into_iter().filter(|_| !is_gap) {
                pieces.add_all(Piece::Ours, ours, here.start..gap.range.start);
                pieces.add_varying_reference();
                here.start = gap.range.end;
            }
            pieces.add_all(Piece::Ours, ours, here);
            pieces.add_all(Piece::Theirs, theirs, there);
        }
        match (ours.1.get(one), theirs.1.get(other)) {
            (Some(token), Some(seen)) if token.of(ours.0) == seen.of(theirs.0) => {
                pieces.add(Piece::Same, token, ours.0);
            }
            // The tokens are one natural form with two values.
            (Some(_), Some(_)) => pieces.add_varying(),
            _ => {}
        }
        last = (one + 1, other + 1);
    }
    pieces.end()
}

/// The side that a token belongs to.
#[derive(Clone, Copy, PartialEq)]
enum Piece {
    Same,
    Ours,
    Theirs,
}

/// Both answers, built line by line; only lines with a difference are kept.
#[derive(Default)]
struct Pieces {
    sides: [Side; 2],
    differs: bool,
    groups: Vec<[Vec<String>; 2]>,
    words: [Words; 2],
}

/// A line of one side; several lines where that side has more of them.
#[derive(Default)]
struct Side {
    text: String,
    /// Index of the first byte that differs.
    first: Option<usize>,
}

/// The words of one side.
#[derive(Default)]
struct Words {
    users: Vec<String>,
    others: Vec<String>,
    marks: Vec<String>,
}

impl Pieces {
    fn add(&mut self, piece: Piece, token: &Token, text: &str) {
        let part = token.of(text);
        let side = match piece {
            Piece::Same => return self.add_same(part),
            Piece::Ours => 0,
            Piece::Theirs => 1,
        };
        self.differs = true;
        for (index, side) in self.sides.iter_mut().enumerate() {
            // The other side differs at this place too, although it has nothing there.
            side.first.get_or_insert(side.text.len());
            if index == usize::from(piece == Piece::Theirs) {
                side.text.push_str(part);
            }
        }
        self.words[side].add(token.kind, part);
    }

    fn add_all(&mut self, piece: Piece, read: Tokenized, range: Range<usize>) {
        read.1[range].iter().for_each(|token| self.add(piece, token, read.0));
    }

    fn add_same(&mut self, part: &str) {
        let end = part.rfind('\n');
        let (before, behind) = end.map_or((part, ""), |end| part.split_at(end + 1));
        self.sides.iter_mut().for_each(|side| side.text.push_str(before));
        if end.is_some() {
            self.flush();
            self.sides.iter_mut().for_each(|side| side.text.push_str(behind));
        }
    }

    /// Adds something that varies, on both sides.
    fn add_varying(&mut self) {
        self.sides.iter_mut().for_each(|side| side.text.push('…'));
    }

    /// Adds something that varies, on the reference's side.
    fn add_varying_reference(&mut self) {
        self.sides[0].text.push('…');
    }

    /// Ends a group of lines, and keeps it if it has a difference.
    fn flush(&mut self) {
        let sides = std::mem::take(&mut self.sides);
        if !std::mem::take(&mut self.differs) {
            return;
        }
        let [ours, theirs] = sides.map(|side| side.lines());
        let head = ours.iter().zip(&theirs).take_while(|(one, other)| one == other).count();
        let most = ours.len().min(theirs.len()) - head;
        let pairs = ours.iter().rev().zip(theirs.iter().rev()).take(most);
        let tail = pairs.take_while(|(one, other)| one == other).count();
        let middle = |lines: &[String]| lines[head..lines.len() - tail].to_vec();
        self.groups.push([middle(&ours), middle(&theirs)]);
    }

    /// Returns the whole difference; `None` if nothing differs.
    fn end(mut self) -> Option<Difference> {
        self.flush();
        let lines = self.groups.iter().flat_map(|group| {
            let marked = group.iter().zip(["-", "+"]);
            marked.flat_map(|(lines, mark)| {
                let more = (lines.len() > LINES_OF_ONE)
                    .then(|| format!("{mark} (and {} lines more)", lines.len() - LINES_OF_ONE));
                let shown =
                    lines.iter().take(LINES_OF_ONE).map(move |line| format!("{mark} {line}"));
                shown.chain(more).collect::<Vec<_>>()
            })
        });
        let mut lines: Vec<String> = lines.collect();
        let more = lines.len().saturating_sub(LINES);
        lines.truncate(LINES);
        if more > 0 {
            lines.push(format!("(and {more} lines more)"));
        }
        let [missing, extra] = self.words.map(Words::into_list);
        let is_one = !(lines.is_empty() && missing.is_empty() && extra.is_empty());
        is_one.then(|| Difference { text: lines.join("\n"), missing, extra, is_whole: true })
    }
}

/// Most lines of a difference: enough to recognize it.
const LINES: usize = 12;
/// Most lines of one side, so that the other side is visible too.
const LINES_OF_ONE: usize = 4;
/// Longest line, in characters.
const WIDTH: usize = 160;
/// Characters of a line that are shown before the difference.
const BEFORE: usize = 60;
/// Most words of one side: more give no further information.
const WORDS: usize = 200;

impl Side {
    /// Returns its lines, each cut around the difference.
    fn lines(&self) -> Vec<String> {
        let mut start = 0;
        let first = self.first.unwrap_or(0);
        let cut = |line: &str| {
            let from = first.saturating_sub(start).min(line.len());
            let from = if first < start { 0 } else { from };
            start += line.len();
            let skip = line[..from].chars().count().saturating_sub(BEFORE);
            let length = line.trim_end().chars().count();
            let skip = if length <= WIDTH { 0 } else { skip };
            let shown: String =
                line.trim_end().chars().skip(skip).take(WIDTH).map(printable).collect();
            let (head, tail) = (skip > 0, length > skip + WIDTH);
            format!("{}{shown}{}", if head { "..." } else { "" }, if tail { "..." } else { "" })
        };
        self.text.split_inclusive('\n').map(cut).collect()
    }
}

/// Replaces a character that a terminal would not show, or would obey.
fn printable(c: char) -> char {
    match c {
        '\t' => ' ',
        c if c.is_control() => char::REPLACEMENT_CHARACTER,
        c => c,
    }
}

impl Words {
    fn add(&mut self, kind: TokenKind, part: &str) {
        let words = match kind {
            TokenKind::User => &mut self.users,
            TokenKind::Mark => &mut self.marks,
            TokenKind::Space => return,
            _ => &mut self.others,
        };
        if words.len() < WORDS && !words.iter().any(|word| word == part) {
            words.push(part.to_owned());
        }
    }

    fn into_list(self) -> Vec<String> {
        let words = [self.users, self.others].concat();
        if words.is_empty() { self.marks } else { words }
    }
}
