//! Tests with made-up trees.

use std::path::Path;

use tempfile::TempDir;

use crate::*;

/// A root directory with these files.
pub(crate) fn tree(files: &[(&str, &str)]) -> TempDir {
    let root = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = root.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    root
}

/// The run's own settings, in the few lines that matter here.
fn run() -> RunSettings {
    let ini = "memory_limit=256M\npost_max_size=50M\nmax_execution_time=0\nopcache.enable=1\noutput_buffering=4096\n\
        opcache.validate_timestamps=0\nopcache.jit=disable\nerror_reporting=22527\n\
        display_errors=0\nlog_errors=1\ninclude_path=\".:/usr/share/php\"\nsession.save_path=/x";
    RunSettings::of_php_ini(ini, vec!["mbstring".into(), "gd".into()], 8)
}

/// An untouched installation of Debian 12, without its comments.
const DEBIAN: &[(&str, &str)] = &[
    (
        "etc/php/8.2/fpm/php.ini",
        "[PHP]\nengine = On\nshort_open_tag = Off\nprecision = 14\noutput_buffering = 4096\n\
         disable_functions = \nmax_execution_time = 30\nmax_input_time = 60\nmemory_limit = 128M\n\
         error_reporting = E_ALL & ~E_DEPRECATED & ~E_STRICT\ndisplay_errors = Off\nlog_errors = On\n\
         post_max_size = 8M\nauto_prepend_file =\nupload_max_filesize = 2M\n[Session]\n\
         session.save_handler = files\nsession.gc_probability = 0\n",
    ),
    ("etc/php/8.2/fpm/conf.d/10-opcache.ini", "zend_extension=opcache.so\nopcache.jit=off\n"),
    ("etc/php/8.2/fpm/conf.d/20-gd.ini", "extension=gd.so\n"),
    ("etc/php/8.2/fpm/conf.d/20-mbstring.ini", "extension=mbstring.so\n"),
    (
        "etc/php/8.2/fpm/php-fpm.conf",
        "[global]\npid = /run/php.pid\ninclude=/etc/php/8.2/fpm/pool.d/*.conf\n",
    ),
    (
        "etc/php/8.2/fpm/pool.d/www.conf",
        "[www]\nuser = www-data\nlisten = /run/php/php8.2-fpm.sock\npm = dynamic\n\
         pm.max_children = 5\npm.start_servers = 2\npm.min_spare_servers = 1\npm.max_spare_servers = 3\n",
    ),
    (
        "etc/nginx/nginx.conf",
        "worker_processes auto;\nevents { worker_connections 768; }\nhttp {\n sendfile on;\n tcp_nopush on;\n\
         access_log /var/log/nginx/access.log;\n gzip on;\n include /etc/nginx/sites-enabled/*;\n}\n",
    ),
    (
        "etc/nginx/sites-enabled/default",
        "server { listen 80 default_server; root /var/www/html; location ~ \\.php$ \
         { fastcgi_pass unix:/run/php/php8.2-fpm.sock; } }\n",
    ),
];

fn with(more: &[(&'static str, &'static str)]) -> TempDir {
    tree(&[DEBIAN, more].concat())
}

/// The differences as `name=value`.
fn said(root: &TempDir) -> Vec<String> {
    let host = read(root.path());
    let chosen = host.choose(None).expect("PHP");
    let all = differences(&chosen, &run());
    all.iter().map(|one| format!("{}={}", one.name, shown(&one.name, &one.here))).collect()
}

#[test]
fn an_untouched_installation_has_no_differences() {
    let basic = "extension=ffi.so\nextension=sockets.so\nextension=readline.so\n";
    let root = with(&[("etc/php/8.2/fpm/conf.d/20-basic.ini", basic)]);
    assert_eq!(said(&root), [] as [&str; 0]);
}

#[test]
fn what_somebody_chose_is_a_difference() {
    let root = with(&[
        (
            "etc/php/8.2/fpm/conf.d/99-shop.ini",
            "session.save_handler=redis\nsession.save_path=\"tcp://cache:6379?auth=hunter22secret\"\n\
             memory_limit=512M\nauto_prepend_file=/opt/apm/start.php\nextension=redis\n",
        ),
        (
            "etc/php/8.2/fpm/pool.d/www.conf",
            "[www]\nlisten = /run/php/php8.2-fpm.sock\npm = static\npm.max_children = 40\n\
             php_admin_value[max_execution_time] = 300\nenv[API_KEY] = s3cr3tvalue99\n",
        ),
        (
            "etc/nginx/sites-enabled/default",
            "server { listen 80; root /var/www/html; fastcgi_buffers 16 32k;\n location ~ \\.php$ \
             { fastcgi_pass unix:/run/php/php8.2-fpm.sock; } }\n",
        ),
    ]);
    let said = said(&root);
    assert!(!said.concat().contains("hunter22secret"), "{said:?}");
    let names: Vec<&str> = said.iter().map(|one| one.split('=').next().unwrap()).collect();
    assert_eq!(
        names,
        [
            "session.save_handler",
            "session.save_path",
            "auto_prepend_file",
            "memory_limit",
            "max_execution_time",
            "extension",
            "pm.max_children",
            "fastcgi_buffers",
        ]
    );
}

#[test]
fn an_unreadable_file_is_part_of_the_result() {
    let root = with(&[]);
    let link = root.path().join("etc/php/8.2/fpm/conf.d/30-loop.ini");
    std::os::unix::fs::symlink("30-loop.ini", link).unwrap();
    let host = read(root.path());
    assert_eq!(host.unreadable.len(), 1, "{:?}", host.unreadable);
    assert!(host.unreadable[0].file.ends_with("30-loop.ini"));
    assert!(host.choose(None).is_some());
}

#[test]
fn nothing_is_set_up_where_only_the_command_line_is() {
    let root = tree(&[("etc/php/8.2/cli/php.ini", "memory_limit=-1\n")]);
    let host = read(root.path());
    assert_eq!(host.setups.len(), 1);
    assert!(host.choose(None).is_none());
}

#[test]
fn the_site_of_the_app_and_its_pool_are_preferred() {
    let root = with(&[
        ("etc/php/8.1/fpm/php.ini", "memory_limit = 64M\n"),
        ("etc/php/8.1/fpm/php-fpm.conf", "include=/etc/php/8.1/fpm/pool.d/*.conf\n"),
        ("etc/php/8.1/fpm/pool.d/shop.conf", "[shop]\nlisten = 127.0.0.1:9001\npm = ondemand\n"),
        (
            "etc/nginx/sites-enabled/shop",
            "server { root /var/www/shop/public/; location ~ \\.php$ { fastcgi_pass localhost:9001; } }\n",
        ),
    ]);
    let host = read(root.path());
    let chosen = host.choose(Some(Path::new("/var/www/shop/public"))).expect("PHP");
    assert_eq!(chosen.php.version.as_deref(), Some("8.1"));
    assert_eq!(chosen.pool.expect("pool").name, "shop");
    let chosen = host.choose(Some(Path::new("/srv/other"))).expect("PHP");
    assert_eq!(chosen.php.version.as_deref(), Some("8.2"), "the default site");
}

fn taken(root: &TempDir) -> TakenOver {
    let host = read(root.path());
    let chosen = host.choose(None).expect("PHP");
    take_over(&chosen, &run(), None, &|path| path.starts_with("/opt"))
}

#[test]
fn an_untouched_debian_is_taken_over() {
    let over = taken(&with(&[]));
    assert_eq!(over.runtime, "nginx-fpm");
    let setting = |name: &str| over.settings.get(name).map(String::as_str);
    assert_eq!(setting("workers"), Some("5"));
    assert_eq!(setting("pm"), Some("dynamic"));
    assert_eq!(setting("memory_limit"), Some("128M"));
    assert_eq!(setting("access_log"), Some("on"));
    assert_eq!(setting("opcache"), None, "it is on, as in the run");
    assert_eq!(over.php_ini["opcache.validate_timestamps"], "1", "PHP's own value");
    assert_eq!(over.php_ini["post_max_size"], "8M");
    assert!(!over.php_ini.contains_key("display_errors"), "the run has the same");
    assert!(!over.php_ini.contains_key("session.save_path"));
    assert_eq!(over.extensions, ["gd", "mbstring"]);
    let lines = &over.append["fpm.conf"];
    assert!(lines.contains(&"pm.max_spare_servers = 3".to_owned()), "{lines:?}");
    let lines = &over.append["nginx.conf"];
    for line in ["fastcgi_buffers 8 4k;", "fastcgi_busy_buffers_size 8192;", "gzip on;"] {
        assert!(lines.contains(&line.to_owned()), "{line}: {lines:?}");
    }
    let ours: Vec<&str> = over.not_taken.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(ours, ["worker_processes", "worker_connections"]);
}

#[test]
fn what_cannot_be_taken_over_is_said() {
    let over = taken(&with(&[(
        "etc/php/8.2/fpm/pool.d/www.conf",
        "[www]\nlisten = /run/php/php8.2-fpm.sock\npm = static\npm.max_children = 4\nchroot = /srv\n\
         php_value[auto_prepend_file] = /srv/secret/waf.php\nphp_value[auto_append_file] = /opt/end.php\n\
         php_value[session.save_handler] = redis\nphp_value[session.save_path] = \"tcp://cache:6379\"\n\
         php_admin_value[error_log] = /var/log/shop.log\nphp_admin_value[open_basedir] = /srv/shop\n\
         env[API_KEY] = s3cr3tvalue99\nenv[HOST] = $HOSTNAME\nenv[REGION] = eu\n",
    )]));
    let words: Vec<String> =
        over.not_taken.iter().map(|one| format!("{} {:?}", one.name, one.why)).collect();
    assert_eq!(
        words,
        [
            "auto_prepend_file NotReadable",
            "session.save_path ReachedForReal",
            "chroot Ours",
            "env[HOST] NotKnown",
            "worker_processes Ours",
            "worker_connections Ours",
        ]
    );
    assert_eq!(over.php_ini["auto_append_file"], "/opt/end.php");
    assert_eq!(over.php_ini["session.save_handler"], "redis");
    assert!(!over.php_ini.contains_key("error_log"));
    assert_eq!(over.env["REGION"], "eu");
    assert_eq!(over.append["php.ini"], ["open_basedir=\"/srv/shop:${TMPDIR}/../\""]);
    let shown = serde_json::to_string(&over.taken).unwrap();
    assert!(!shown.contains("s3cr3tvalue99"), "{shown}");
    let at = over.taken.iter().find(|one| one.name == "env[REGION]").and_then(|one| one.at.clone());
    assert_eq!(at.map(|at| at.line), Some(14));
}

#[test]
fn the_official_image_of_php_fpm() {
    let root = tree(&[
        ("usr/local/etc/php/conf.d/docker-php-ext-opcache.ini", "zend_extension=opcache\n"),
        ("usr/local/etc/php/conf.d/shop.ini", "upload_max_filesize=64M\n"),
        ("usr/local/etc/php-fpm.conf", "[global]\ninclude=etc/php-fpm.d/*.conf\n"),
        (
            "usr/local/etc/php-fpm.d/www.conf",
            "[www]\nlisten = 127.0.0.1:9000\npm = dynamic\npm.max_children = 5\n",
        ),
        (
            "usr/local/etc/php-fpm.d/zz-docker.conf",
            "[global]\ndaemonize = no\n[www]\nlisten = 9000\npm.max_children = 12\n",
        ),
    ]);
    let host = read(root.path());
    let chosen = host.choose(None).expect("PHP");
    assert_eq!((chosen.server, chosen.site), (Server::NginxFpm, None));
    assert_eq!(chosen.pool.and_then(|pool| pool.get("pm.max_children")), Some("12"));
    assert_eq!(chosen.pool.and_then(|pool| pool.get("daemonize")), None);
    let over = taken(&root);
    assert_eq!(over.settings["workers"], "12");
    assert_eq!(over.php_ini["display_errors"], "1", "there is no php.ini");
    let mut said = said(&root);
    // The run of this test loads files that the image has built in.
    said.retain(|one| !one.starts_with("no extension"));
    assert_eq!(said, ["upload_max_filesize=64M", "pm.max_children=12"]);
}

#[test]
fn red_hat_with_apache_before_php_fpm() {
    let root = tree(&[
        ("etc/php.ini", "memory_limit = 1G\n"),
        ("etc/php.d/10-opcache.ini", "zend_extension=opcache\n"),
        ("etc/php.d/20-ext.ini", "extension=gd\nextension=mbstring\n"),
        ("etc/php-fpm.conf", "include=/etc/php-fpm.d/*.conf\n[global]\npid = /run/x\n"),
        (
            "etc/php-fpm.d/www.conf",
            "[www]\nlisten = /run/php-fpm/www.sock\npm = dynamic\npm.max_children = 50\n",
        ),
        (
            "etc/httpd/conf/httpd.conf",
            "Include conf.modules.d/*.conf\nDocumentRoot \"/var/www/html\"\nIncludeOptional conf.d/*.conf\n",
        ),
        (
            "etc/httpd/conf.modules.d/00-mpm.conf",
            "LoadModule mpm_event_module modules/mod_mpm_event.so\n",
        ),
        (
            "etc/httpd/conf.d/php.conf",
            "<FilesMatch \\.php$>\n SetHandler \"proxy:unix:/run/php-fpm/www.sock|fcgi://localhost\"\n</FilesMatch>\n",
        ),
    ]);
    let over = taken(&root);
    assert_eq!(over.runtime, "apache-fpm");
    assert_eq!(over.settings["workers"], "50");
    assert_eq!(over.settings["threads"], "400", "16 processes with 25 threads");
    assert_eq!(over.settings["memory_limit"], "1G");
    assert_eq!(said(&root), ["memory_limit=1G"]);
}

#[test]
fn debian_with_php_inside_apache() {
    let root = tree(&[
        ("etc/php/8.2/apache2/php.ini", "memory_limit = 128M\n"),
        ("etc/php/8.2/apache2/conf.d/10-opcache.ini", "zend_extension=opcache.so\n"),
        ("etc/php/8.2/apache2/conf.d/20-ext.ini", "extension=gd\nextension=mbstring\n"),
        (
            "etc/apache2/apache2.conf",
            "KeepAlive On\nKeepAliveTimeout 5\nIncludeOptional mods-enabled/*.load\nIncludeOptional mods-enabled/*.conf\nIncludeOptional sites-enabled/*.conf\n",
        ),
        ("etc/apache2/mods-enabled/mpm_prefork.load", "LoadModule mpm_prefork_module /x.so\n"),
        ("etc/apache2/mods-enabled/php8.2.load", "LoadModule php_module /x.so\n"),
        (
            "etc/apache2/mods-enabled/mpm_prefork.conf",
            "<IfModule mpm_prefork_module>\nStartServers 5\nMaxRequestWorkers 150\n</IfModule>\n",
        ),
        (
            "etc/apache2/sites-enabled/000-default.conf",
            "<VirtualHost *:80>\nDocumentRoot /var/www/html\nphp_value memory_limit 384M\n</VirtualHost>\n",
        ),
    ]);
    let over = taken(&root);
    assert_eq!(over.runtime, "apache-modphp");
    assert_eq!(over.settings["workers"], "150");
    assert_eq!(over.settings["prefork"], "dynamic");
    assert_eq!(over.settings["memory_limit"], "384M");
    assert!(over.append["httpd.conf"].contains(&"StartServers 5".to_owned()));
    assert_eq!(said(&root), ["memory_limit=384M"]);
}
