//! Reads of an ELF file what tells a static binary from another one (System V ABI, chapters 4 and 5).

use super::DistError;

/// The numbers of the machines.
pub const X86_64: u16 = 62;
/// See [`X86_64`].
pub const AARCH64: u16 = 183;

/// Checks that the file is a static binary for this machine: it names no loader and no library. A
/// static binary that can be loaded anywhere has a dynamic section, but needs nothing by it.
///
/// # Errors
/// Says what it is instead.
pub fn check(bytes: &[u8], machine: u16) -> Result<(), DistError> {
    if !bytes.starts_with(b"\x7fELF\x02\x01") {
        return Err(DistError::NotElf);
    }
    let is = number(bytes, 18, 2).ok_or(DistError::NotElf)? as u16;
    if is != machine {
        return Err(DistError::OtherMachine { is, wanted: machine });
    }
    for header in program_headers(bytes).ok_or(DistError::NotElf)? {
        match header.kind {
            LOADER => return Err(DistError::NotStatic),
            DYNAMIC if needs_library(bytes, &header).ok_or(DistError::NotElf)? => {
                return Err(DistError::NotStatic);
            }
            _ => {}
        }
    }
    Ok(())
}

struct ProgramHeader {
    kind: u64,
    offset: usize,
    length: usize,
}

fn program_headers(bytes: &[u8]) -> Option<Vec<ProgramHeader>> {
    let table = number(bytes, 32, 8)? as usize;
    let (size, count) = (number(bytes, 54, 2)? as usize, number(bytes, 56, 2)? as usize);
    let header = |index: usize| {
        let at = table.checked_add(index.checked_mul(size)?)?;
        let (offset, length) = (number(bytes, at + 8, 8)?, number(bytes, at + 32, 8)?);
        let kind = number(bytes, at, 4)?;
        Some(ProgramHeader { kind, offset: offset as usize, length: length as usize })
    };
    (0..count).map(header).collect()
}

/// The dynamic section is a list of pairs, and ends with a tag of 0.
fn needs_library(bytes: &[u8], dynamic: &ProgramHeader) -> Option<bool> {
    let end = dynamic.offset.checked_add(dynamic.length)?;
    let section = bytes.get(dynamic.offset..end)?;
    let tags = section.chunks_exact(16).map_while(|pair| number(pair, 0, 8));
    Some(tags.take_while(|tag| *tag != 0).any(|tag| tag == NEEDED))
}

/// A number in little endian.
fn number(bytes: &[u8], at: usize, length: usize) -> Option<u64> {
    let bytes = bytes.get(at..at.checked_add(length)?)?;
    Some(bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
}

/// Kinds of program headers: `PT_DYNAMIC` and `PT_INTERP`.
const DYNAMIC: u64 = 2;
const LOADER: u64 = 3;
/// The tag of a library's name: `DT_NEEDED`.
const NEEDED: u64 = 1;

#[cfg(test)]
mod tests {
    use super::*;

    /// A file with these program headers, each with its own 32 bytes behind the headers.
    fn file(machine: u16, headers: &[(u32, [u64; 4])]) -> Vec<u8> {
        let mut bytes = b"\x7fELF\x02\x01\x01".to_vec();
        bytes.resize(64, 0);
        bytes[18..20].copy_from_slice(&machine.to_le_bytes());
        bytes[32..40].copy_from_slice(&64_u64.to_le_bytes());
        bytes[54..56].copy_from_slice(&56_u16.to_le_bytes());
        bytes[56..58].copy_from_slice(&(headers.len() as u16).to_le_bytes());
        for (index, (kind, _)) in headers.iter().enumerate() {
            let at = bytes.len();
            bytes.resize(at + 56, 0);
            bytes[at..at + 4].copy_from_slice(&kind.to_le_bytes());
            let offset = (64 + 56 * headers.len() + 32 * index) as u64;
            bytes[at + 8..at + 16].copy_from_slice(&offset.to_le_bytes());
            bytes[at + 32..at + 40].copy_from_slice(&32_u64.to_le_bytes());
        }
        bytes.extend(headers.iter().flat_map(|(_, body)| body).flat_map(|one| one.to_le_bytes()));
        bytes
    }

    /// The headers of a file, and whether they are a static binary's.
    type Case<'a> = (&'a [(u32, [u64; 4])], bool);

    #[test]
    fn a_loader_or_a_library_makes_a_binary_not_static() {
        const OTHER: u64 = 0x6fff_fffb;
        let cases: [Case; 5] = [
            (&[(1, [0; 4])], true),
            (&[(1, [0; 4]), (2, [OTHER, 1, 0, 0])], true),
            (&[(2, [OTHER, 1, NEEDED, 5])], false),
            // Behind the end of the list.
            (&[(2, [0, 0, NEEDED, 5])], true),
            (&[(1, [0; 4]), (3, [0; 4])], false),
        ];
        for (headers, is_static) in cases {
            let checked = check(&file(X86_64, headers), X86_64);
            assert_eq!(checked.is_ok(), is_static, "{headers:?}: {checked:?}");
        }
    }

    #[test]
    fn other_machines_and_other_files_are_told_apart() {
        let x86 = file(X86_64, &[(1, [0; 4])]);
        let error = check(&x86, AARCH64).expect_err("x86").to_string();
        assert_eq!(error, "the binary is for machine 62, not 183");
        assert!(matches!(check(b"#!/bin/sh\n", X86_64), Err(DistError::NotElf)));
        for length in 0..64 + 40 {
            assert!(check(&x86[..length], X86_64).is_err(), "{length} bytes are no binary");
        }
    }
}
