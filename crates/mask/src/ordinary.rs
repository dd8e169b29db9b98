//! Decides which values are too ordinary to be masked wherever they appear. tidy: data table
//!
//! A value such as `localhost`, `12345678` or `/srv/app` is found in texts that have nothing to do
//! with the secret. It is masked only at its own place.

use std::collections::HashSet;
use std::path::Path;
use std::sync::LazyLock;

use super::own;

/// Fewer characters than that occur by chance, and inside other words.
const SHORTEST: usize = 8;

/// Whether a value may be masked wherever it appears, because it is unlikely to be there by chance.
pub(super) fn is_distinctive(value: &str) -> bool {
    value.chars().count() >= SHORTEST
        && value.chars().any(char::is_alphanumeric)
        && !value.contains(super::MASK)
        && !is_number(value)
        && !is_common(value)
        && !is_variable(value)
        && !is_path(value)
        && !own::is_own(value)
}

/// Whether a value is only figures: a number, a version, an address with its port.
fn is_number(value: &str) -> bool {
    let digits = value.trim_start_matches(['+', '-']);
    digits.bytes().all(|byte| byte.is_ascii_digit() || b".,:".contains(&byte))
}

/// Whether a value stands for another one, such as `${DB_PASS}` or `%env(DB_PASS)%`.
fn is_variable(value: &str) -> bool {
    value.starts_with("${") && value.ends_with('}')
        || value.starts_with("%env(") && value.ends_with(")%")
}

/// Whether a value is the path of a file or directory that exists here.
pub(super) fn is_path(value: &str) -> bool {
    let path = value.strip_prefix("file://").unwrap_or(value);
    path.contains('/') && !path.contains(['\0', '\n']) && Path::new(path).exists()
}

fn is_common(value: &str) -> bool {
    static WORDS: LazyLock<HashSet<&str>> =
        LazyLock::new(|| COMMON.split_ascii_whitespace().collect());
    WORDS.contains(value.to_ascii_lowercase().as_str())
}

/// Words of [`SHORTEST`] characters and more that occur in configurations, logs and reports, or that
/// everybody uses in place of a password.
const COMMON: &str = "
absolute accepted accounts activate addition advanced allocate alphabet analysis anonymous apache-modphp api_token
application applications argument arguments assigned attached attempts attribute attributes authenticate authenticated
authentication authorization autoload automatic available backends balanced bandwidth baseline behaviour benchmark
benchmarks blocking boundary branches browsers building bytecode calculated callback callbacks cancelled capacity
category certificate challenge change-me change_me changeit changeme changethis character characters checkout children
classify clearing collected collection combined commands comments commerce commercial comparison compiled complete
completed component composer compress compressed compression computer concurrency concurrent condition configuration
configured confirmed connected connecting connection connections consider constant consumer contained container
containers contains contents continue controller controllers converted coverage creating creation critical currency
currently customer customers dangerous database databases datetime deadline debugger december declared default_value
defaults defaultuser deferred definition delegate deleting delivery deployed deployment deprecated describe described
description designed destination detected developer developers development different directory disabled disconnect
discover distance distributed distribution division document documents download downloads duration elasticsearch
elements employee employees encoding encrypted encryption endpoint endpoints engineer entities environment equivalent
establish estimate evaluate exception exceptions exchange excluded executable execution existing expected expiration
explicit extension extensions external facebook failover failures fallback features february feedback filename
filesystem finished firewall followed forwarded fragment framework frameworks frankenphp frequency friendly function
functions gateways generate generated generator gradient graphics handlers handling hardware hello-world helloworld
hostname hostnames identical identifier identities important improved included incoming incorrect increase incremental
indexing individual infinity information inherited initialize injection insecure inserted inspector installed instance
instances instruction integers integration interface interfaces internal internet interrupt interval intervals
inventory invoices iterator javascript keepalive keepalives keyboard language languages latencies lifetime listener
listeners localdev localdomain localhost localize location locations lockfile lockpath machines mailhost maintenance
managers managing mandatory manifest manually maximums measured measurement mechanism memcache memcached memories
messages metadata middleware migration migrations minimums mistakes moderate modified monitoring multiple mydatabase
mypassword mysecret nameserver namespace navigation negative negotiate neighbour networks nginx-fpm node_modules
nonempty nonsense normally not-needed not-secret notifications notified november numbering observed obsolete operating
operation operations operator optional ordering organization original otherwise outbound outgoing overflow override
overview packages parallel parameter parameters particular partition partners passphrase passw0rd password password1
password123 passwords pathinfo patterns payments pdo_mysql pdo_pgsql percentile percentiles permanent permission
permissions persistent personal placeholder plaintext planning platform platforms playground please-change
please_change pleasechange pointers policies portable position positions positive possible postgres postgresql
practice predefined preferred prefetch prefixed preloaded premiums prepared presence previous printing priority
problems procedure procedures processed processes processing processor producer production products profiler programs
progress projects promoted properties property protected protocol protocols provided provider providers provision
publicly published publisher purchase quantity question qwertyui qwertyuiop rabbitmq randomly readable readonly
received receiver recently recommended recorder recovery recursive redirect redirects redis-server reference
references register registered registration registry regression relation relations relative released releases reliable
reloading remember remember_me removing repeated repository requests required requirement requirements reserved
resolved resource resources response responses restarted restored restrict restricted resulting retrieve retrying
returned reverse-proxy revision roadrunner rollback rotation runtimes sandboxed schedule scheduled scheduler searching
secondary sections security selected selection semantic sendmail sensitive sentinel separate september sequence
sequential serialize serialized serializer services sessions settings severity shipping shutdown signature simulate
singleton snapshot snapshots software solution somebody somesecret something specific specified standard standards
starting stateful stateless statement statements statistics storages strategy streaming strength strictly stringent
structure structured subdomain submitted subscribe subscriber subscription succeeded successful successfully suffixes
suggested superuser supervisor supplied supported surprise suspended swapfile switched synchronous sysadmin template
templates temporary terminal terminate terminated test1234 testpass testpassword testsecret testtest testuser
themselves threaded threshold throttle throttled throughput timestamp timestamps together tokenizer tolerance tracking
trailing transaction transactions transfer transform transient translate translation transport triggers truncated
tutorial typescript undefined underlying unexpected unixsocket unlimited untrusted updating upgrading uploaded
upstream upstreams user_name username usernames utilities validate validated validation validator variable variables
variance verified verifier versions visibility visitors volatile warnings weighted whatever wildcard wireless
wordpress workflow workspace writable yesterday your-secret your-token your_api_key your_password your_secret
yourpassword yoursecret zend_extension
";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::own::set_words_of_tests;

    #[test]
    fn ordinary_values_are_not_distinctive() {
        set_words_of_tests();
        let path = env!("CARGO_MANIFEST_DIR");
        for value in [
            "",
            "hunter2",
            "root",
            "true",
            "12345678",
            "-12345678.5",
            "127.0.0.1:63790",
            "localhost",
            "Production",
            "CHANGEME",
            "${DB_PASS}",
            "%env(DB_PASS)%",
            "a ***, b",
            "--------",
            "throughput",
            path,
            &format!("file://{path}/src"),
        ] {
            assert!(!is_distinctive(value), "{value}");
        }
        for value in [
            "hunter22",
            "correcthorse",
            "2026-11-21",
            "p@ssw0rd1",
            "/no/such/place/here",
            "1234567a",
            "пароль12",
        ] {
            assert!(is_distinctive(value), "{value}");
        }
    }
}
