//! Reads what a file contains that is compressed with gzip or zstd, as a stream. Its first bytes
//! say which, whatever its name is.

use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use flate2::bufread::MultiGzDecoder;
use ruzstd::decoding::FrameDecoder;
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};

use super::TrafficFile;
use super::error::TrafficError;
use super::read::Bytes;
use super::utf16;

/// Bytes that were read of the file itself, which are fewer than those that came of it.
pub(super) type BytesRead = Arc<AtomicU64>;

/// A way of compression that is recognised, and not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unreadable {
    Bzip2,
    Xz,
    Zip,
}

/// What `file` contains, without compression. Counts what it takes of the file in `bytes_read`.
///
/// # Errors
/// The file is compressed in a way that is not read, or cannot be read at all.
pub(super) fn unpacked(
    reader: Bytes,
    file: &TrafficFile,
    bytes_read: BytesRead,
) -> Result<Bytes, TrafficError> {
    let counted = Counted { reader, bytes_read };
    let unreadable = |source: io::Error| TrafficError::Unreadable {
        path: file.path.clone(),
        source: Arc::new(source),
    };
    let opened = open(counted).map_err(unreadable)?;
    let opened =
        opened.map_err(|by| TrafficError::Compressed { path: file.path.clone(), by: by.name() })?;
    utf16::decoded(opened).map_err(unreadable)
}

/// The same for a later pass, when it is known that the file can be read.
pub(super) fn again(reader: Bytes, bytes_read: BytesRead) -> io::Result<Bytes> {
    bytes_read.store(0, Ordering::Relaxed);
    let opened = open(Counted { reader, bytes_read })?;
    utf16::decoded(opened.map_err(|by| io::Error::other(by.name()))?)
}

fn open(mut counted: Counted) -> io::Result<Result<Bytes, Unreadable>> {
    let mut begin = Vec::new();
    (&mut counted).take(MAGIC_BYTES).read_to_end(&mut begin)?;
    let kind = begin.clone();
    let whole = BufReader::with_capacity(BUFFER_BYTES, Cursor::new(begin).chain(counted));
    Ok(match &kind[..] {
        [0x1f, 0x8b, ..] => Ok(Box::new(MultiGzDecoder::new(whole))),
        [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => {
            Ok(Box::new(Zstd { source: whole, decoder: FrameDecoder::new(), is_begun: false }))
        }
        [b'B', b'Z', b'h', b'1'..=b'9', ..] => Err(Unreadable::Bzip2),
        [0xfd, b'7', b'z', b'X', b'Z', 0] => Err(Unreadable::Xz),
        [b'P', b'K', 3, 4, ..] => Err(Unreadable::Zip),
        _ => Ok(Box::new(whole)),
    })
}

impl Unreadable {
    fn name(self) -> &'static str {
        match self {
            Unreadable::Bzip2 => "bzip2",
            Unreadable::Xz => "xz",
            Unreadable::Zip => "zip",
        }
    }
}

struct Counted {
    reader: Bytes,
    bytes_read: BytesRead,
}

impl Read for Counted {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let read = self.reader.read(out)?;
        self.bytes_read.fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
    }
}

/// Frames of zstd one after the other (RFC 8878 section 3.1): `cat` of two files is one, too.
/// Memory is bounded by a frame's window; the decoder refuses one of more than 100 MiB.
struct Zstd<R> {
    source: R,
    decoder: FrameDecoder,
    /// Whether a frame was begun.
    is_begun: bool,
}

impl<R: BufRead> Zstd<R> {
    /// Begins the next frame; `false`: there is none.
    fn begin_frame(&mut self) -> io::Result<bool> {
        while !self.source.fill_buf()?.is_empty() {
            match self.decoder.reset(&mut self.source) {
                Ok(()) => {
                    self.is_begun = true;
                    return Ok(true);
                }
                // Frames for other data.
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                    length,
                    ..
                })) => {
                    io::copy(&mut (&mut self.source).take(u64::from(length)), &mut io::sink())?;
                }
                Err(error) => return Err(io::Error::other(error)),
            }
        }
        Ok(false)
    }
}

impl<R: BufRead> Read for Zstd<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        use ruzstd::decoding::BlockDecodingStrategy::UptoBytes;
        if out.is_empty() {
            return Ok(0);
        }
        loop {
            if self.is_begun && self.decoder.can_collect() > 0 {
                return self.decoder.read(out);
            }
            if !self.is_begun || self.decoder.is_finished() {
                if !self.begin_frame()? {
                    return Ok(0);
                }
            } else {
                let decoded = self.decoder.decode_blocks(&mut self.source, UptoBytes(out.len()));
                decoded.map_err(io::Error::other)?;
            }
        }
    }
}

/// Bytes that tell the kinds of compression apart.
const MAGIC_BYTES: u64 = 6;
const BUFFER_BYTES: usize = 64 << 10;

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use proptest::prelude::*;
    use ruzstd::encoding::{CompressionLevel, compress_to_vec};

    use super::*;

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn zstd(bytes: &[u8]) -> Vec<u8> {
        compress_to_vec(bytes, CompressionLevel::Fastest)
    }

    /// What is read, and how many bytes of the file that took.
    fn read(bytes: &[u8]) -> Result<(Vec<u8>, u64), String> {
        let counted = BytesRead::default();
        let reader = Box::new(Cursor::new(bytes.to_vec()));
        let file = TrafficFile::new("log");
        let opened = unpacked(reader, &file, Arc::clone(&counted)).map_err(|e| e.to_string());
        let mut out = Vec::new();
        opened?.read_to_end(&mut out).map_err(|error| error.to_string())?;
        Ok((out, counted.load(Ordering::Relaxed)))
    }

    #[test]
    fn several_streams_in_one_file_are_read_one_after_the_other() {
        let skipped = [&[0x5a, 0x2a, 0x4d, 0x18, 3, 0, 0, 0][..], b"abc"].concat();
        let cases = [
            [gzip(b"/a\n"), gzip(b""), gzip(b"/b\n")].concat(),
            [zstd(b"/a\n"), skipped.clone(), zstd(b""), zstd(b"/b\n")].concat(),
            [skipped, zstd(b"/a\n/b\n")].concat(),
        ];
        for bytes in cases {
            assert_eq!(read(&bytes), Ok((b"/a\n/b\n".to_vec(), bytes.len() as u64)));
        }
    }

    #[test]
    fn a_cut_file_is_an_error_after_what_could_be_read() {
        let text = b"/0123456789\n".repeat(100);
        for mut bytes in [gzip(&text), zstd(&text)] {
            assert!(read(&bytes[..bytes.len() - 6]).is_err());
            let file = TrafficFile::new("log");
            let hint = |bytes: &[u8]| {
                let reader = Box::new(Cursor::new(bytes.to_vec()));
                match unpacked(reader, &file, BytesRead::default()) {
                    Err(error) => error.hint(),
                    Ok(mut opened) => {
                        let source = opened.read_to_end(&mut Vec::new()).unwrap_err().into();
                        TrafficError::Unreadable { path: "log".into(), source }.hint()
                    }
                }
            };
            assert!(hint(&bytes[..bytes.len() - 6]).contains("cut off or damaged"));
            let middle = bytes.len() / 2;
            bytes[middle..middle + 4].fill(0xff);
            assert!(hint(&bytes).contains("cut off or damaged"));
        }
    }

    #[test]
    fn other_compression_is_named() {
        let cases: [(&[u8], &str); 3] =
            [(b"BZh9\x31\x41", "bzip2"), (b"\xfd7zXZ\0", "xz"), (b"PK\x03\x04\x14\0", "zip")];
        for (begin, name) in cases {
            assert_eq!(read(begin), Err(format!("request file `log` is compressed with {name}")));
        }
    }

    proptest! {
        #[test]
        fn what_was_packed_comes_back(bytes in proptest::collection::vec(0_u8..4, 0..5_000)) {
            for packed in [gzip(&bytes), zstd(&bytes)] {
                prop_assert_eq!(&read(&packed).unwrap().0, &bytes);
            }
        }

        #[test]
        fn no_input_panics(mut bytes in proptest::collection::vec(any::<u8>(), 0..200), kind in 0..3) {
            let magic: &[u8] = match kind {
                0 => &[0x1f, 0x8b, 8, 0],
                1 => &[0x28, 0xb5, 0x2f, 0xfd],
                _ => &[0x50, 0x2a, 0x4d, 0x18],
            };
            bytes.splice(0..0, magic.iter().copied());
            let _ = read(&bytes);
        }
    }
}
