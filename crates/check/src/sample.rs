//! Parts of a report for tests: as harmless as possible, for a test to change.

use std::sync::Arc;

use stampede_php::CodeScan;
use stampede_stack::ClientError;

use super::harness::NoAnswer;
use super::kinds::FindingKind;
use super::model::{
    CheckReport, CheckRequest, Coverage, FORMAT, Finding, Growth, GrowthOf, RuntimeResult, Step,
    Verdict,
};
use super::subject::Subject;

/// Returns a check without any result.
pub fn report() -> CheckReport {
    CheckReport {
        format: FORMAT,
        stampede: "0.1.0".to_owned(),
        name: "20261122-170225-swift-otter".to_owned(),
        started_at: "2026-11-22T17:02:25+00:00".to_owned(),
        asked: ["--app", "/srv/shop", "--runtime", "roadrunner", "--seed", "7"]
            .map(str::to_owned)
            .to_vec(),
        app: "/srv/shop".to_owned(),
        kind: "symfony".to_owned(),
        reference: "nginx-fpm".to_owned(),
        seed: 7,
        tried: Coverage {
            requests: 12,
            sent: 360,
            passes: ["in order", "interleaved"].map(str::to_owned).to_vec(),
            users: 2,
            growth_requests: 20_000,
            seconds: 61.4,
        },
        skipped: Vec::new(),
        runtimes: Vec::new(),
        code: CodeScan::default(),
        interrupted: false,
    }
}

/// Returns a runtime without findings.
pub fn checked(runtime: &str) -> RuntimeResult {
    RuntimeResult {
        runtime: runtime.to_owned(),
        verdict: Verdict::Safe,
        findings: Vec::new(),
        growth: Vec::new(),
        workers_lost: 0,
        passes: 2,
        sent: 120,
        growth_sent: 0,
        not_again: 0,
        not_compared: 0,
        problem: None,
    }
}

/// Returns the client's error when a worker ends during its request.
pub fn reset() -> NoAnswer {
    NoAnswer::from(ClientError::Io(std::io::ErrorKind::ConnectionReset.into()))
}

/// Returns a finding of a different answer.
pub fn finding() -> Finding {
    Finding {
        number: 1,
        kind: FindingKind::Answer,
        about: "GET /".to_owned(),
        subject: Subject::request(&step(0, "/").request),
        what: String::new(),
        evidence: String::new(),
        steps: Vec::new(),
        is_repeatable: true,
        places: Vec::new(),
        fingerprint: "answer get /".to_owned(),
        signs: super::signs::Signs::new(),
        is_accepted: false,
    }
}

/// Returns a GET request of a user.
pub fn step(user: u32, target: &str) -> Step {
    let (method, target) = ("GET".to_owned(), target.to_owned());
    let request = CheckRequest { method, target, ..CheckRequest::default() };
    Step { user, request: Arc::new(request), with_next: false }
}

/// Returns the growth of an amount by one with each request.
pub fn growth(of: GrowthOf, max_requests: Option<u64>) -> Growth {
    Growth {
        of,
        requests: 1_000,
        begin: 0.0,
        end: 1_000.0,
        per_request: 1.0,
        per_request_low: 1.0,
        per_request_high: 1.0,
        grows: true,
        max_requests,
    }
}
