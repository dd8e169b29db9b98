//! Runs a program whose standard input and output come late: `relay BASE_US MORE_US PROGRAM …`.

use std::io::{Read, Write};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::error::BenchError;

/// Holds each piece of data for `BASE_US` and up to `MORE_US` more, in order, in both directions. The
/// delays are drawn from a fixed seed. Ends with the program.
pub fn relay(words: &[&str]) -> Result<(), BenchError> {
    let [base, more, program, rest @ ..] = words else { panic!("BASE_US MORE_US PROGRAM …") };
    let micros = |text: &str| Duration::from_micros(text.parse().expect("a number of µs"));
    let (base, more) = (micros(base), micros(more));
    let mut child = Command::new(program)
        .args(rest)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|source| BenchError::NoProcess { child: "an agent", source })?;
    let (input, output) = (child.stdin.take(), child.stdout.take());
    let (input, output) = (input.expect("it is piped"), output.expect("it is piped"));
    // Ends with this process: a read of the standard input cannot be stopped.
    delay(std::io::stdin(), input, (base, more), 1);
    let back = delay(output, std::io::stdout(), (base, more), 2);
    let _ = back.join();
    child.wait()?;
    Ok(())
}

/// Copies until the end, late. The handle is that of the side that writes.
fn delay(
    mut from: impl Read + Send + 'static,
    mut into: impl Write + Send + 'static,
    (base, more): (Duration, Duration),
    seed: u64,
) -> JoinHandle<()> {
    let (sender, pieces) = mpsc::channel::<(Instant, Vec<u8>)>();
    std::thread::spawn(move || {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut buffer = vec![0; 64 << 10];
        while let Ok(read @ 1..) = from.read(&mut buffer) {
            let drawn = Duration::from_micros(random.u64(0..=more.as_micros() as u64));
            if sender.send((Instant::now() + base + drawn, buffer[..read].to_vec())).is_err() {
                break;
            }
        }
    });
    std::thread::spawn(move || {
        for (due, piece) in pieces {
            std::thread::sleep(due.saturating_duration_since(Instant::now()));
            if into.write_all(&piece).and_then(|()| into.flush()).is_err() {
                break;
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_comes_late_and_in_order() {
        let (reader, mut writer) = std::io::pipe().expect("a pipe");
        let (mut end, into) = std::io::pipe().expect("a pipe");
        let begun = Instant::now();
        let (base, more) = (Duration::from_millis(30), Duration::from_millis(10));
        let copied = delay(reader, into, (base, more), 1);
        for piece in ["a", "b", "c"] {
            writer.write_all(piece.as_bytes()).expect("it is read");
            std::thread::sleep(Duration::from_millis(2));
        }
        drop(writer);
        let mut text = String::new();
        end.read_to_string(&mut text).expect("text");
        copied.join().expect("no panic");
        assert_eq!(text, "abc");
        assert!(begun.elapsed() >= base, "{:?}", begun.elapsed());
    }
}
