//! Lines as servers write them, and what each says. tidy: data table

/// Name of the writer, its line, and in short what the line says: method, target, host, status, and
/// the second of its day. 10 January 2024, 10:20:30 UTC is second 37230.
type Case = (&'static str, &'static str, &'static str);

/// Request lines in quotes.
pub(super) const QUOTED: &[Case] = &[
    (
        "common",
        r#"10.1.2.3 - - [10/Jan/2024:10:20:30 +0000] "GET /a?b=c HTTP/1.1" 200 12"#,
        "GET /a?b=c 200 @37230",
    ),
    (
        "combined",
        r#"10.1.2.3 - bob [10/Jan/2024:11:20:30 +0100] "GET /a HTTP/2.0" 304 0 "https://x/" "Agent \"q\"""#,
        "GET /a 304 @37230",
    ),
    (
        "virtual host first",
        r#"shop.test:443 10.1.2.3 - - [10/Jan/2024:10:20:30 +0000] "HEAD /a HTTP/1.1" 200 12 "-" "x""#,
        "HEAD /a 200 @37230",
    ),
    (
        "time first",
        r#"[10/Jan/2024:10:20:30 +0000] 10.1.2.3 "GET /a HTTP/1.1" 0.003 200"#,
        "GET /a @37230",
    ),
    (
        "ISO time first",
        r#"2024-01-10T10:20:30.5Z 10.1.2.3 shop.test "GET /a HTTP/1.1" 200 0.1"#,
        "GET /a 200 @37230",
    ),
    (
        "user agent first",
        r#""Agent 1" "https://ref/" [10/Jan/2024:10:20:30 +0000] "GET /a HTTP/1.1" 200"#,
        "GET /a 200 @37230",
    ),
    (
        "addresses of a proxy in quotes",
        r#"10.1.2.3 "203.0.113.9, 10.0.0.1" - [10/Jan/2024:10:20:30 +0000] "GET /a HTTP/1.1" 200 5"#,
        "GET /a 200 @37230",
    ),
    (
        "whole line in quotes",
        r#""10.1.2.3 - - [10/Jan/2024:10:20:30 +0000] "GET /a HTTP/1.1" 200 12 "-" "x"""#,
        "GET /a 200 @37230",
    ),
    (
        "comma separated",
        r#""10.1.2.3","2024-01-10 10:20:30","GET /a HTTP/1.1","200","5""#,
        "GET /a 200 @37230",
    ),
    (
        "HAProxy",
        r#"<134>Jan 10 10:20:30 lb haproxy[312]: 10.1.2.3:33317 [10/Jan/2024:10:20:30.655] web~ app/srv1 10/0/30/69/109 200 2750 - - ---- 1/1/1/1/0 0/0 {shop.test} {} "GET /a HTTP/1.1""#,
        "GET /a 200 @37230",
    ),
    (
        "HAProxy, no request",
        r#"Jan 10 10:20:30 lb haproxy[312]: 10.1.2.3:333 [10/Jan/2024:10:20:30.655] web web/<NOSRV> -1/-1/-1/-1/7 400 187 - - PR-- 1/1/0/0/0 0/0 "<BADREQ>""#,
        "not http",
    ),
    (
        "ALB",
        r#"h2 2024-01-10T10:20:30.186641Z app/lb/50dc 10.1.2.3:2817 10.0.0.1:80 0.086 0.048 0.037 200 201 0 57 "GET https://shop.test:443/a?b HTTP/2.0" "curl" ECDHE TLSv1.2 arn:x "Root=1-5" "shop.test" "arn:y" 1 2024-01-10T10:20:29.364000Z "forward" "-" "-" "10.0.0.1:80" "200" "-" "-""#,
        "GET https://shop.test:443/a?b 200 @37230",
    ),
    (
        "ELB",
        r#"2024-01-10T10:20:30.945958Z lb 10.1.2.3:2817 10.0.0.1:80 0.000073 0.001048 0.000057 404 404 0 29 "GET http://shop.test:80/a HTTP/1.1" "curl/7" - -"#,
        "GET http://shop.test:80/a 404 @37230",
    ),
    (
        "S3",
        r#"79a5 bucket [10/Jan/2024:10:20:30 +0000] 10.1.2.3 79a5 3E57 REST.GET.OBJECT a%20b.png "GET /bucket/a%2520b.png?x=1 HTTP/1.1" 200 - 113 113 7 6 "-" "S3Console" -"#,
        "GET /bucket/a%2520b.png?x=1 200 @37230",
    ),
    (
        "Envoy",
        r#"[2024-01-10T10:20:30.310Z] "POST /api HTTP/2" 204 - 154 0 226 100 "10.0.35.28" "client" "cc21" "shop" "tcp://10.0.2.1:80""#,
        "POST /api 204 @37230",
    ),
    (
        "Varnish",
        r#"10.1.2.3 - - [10/Jan/2024:10:20:30 +0000] "GET http://shop.test/a HTTP/1.1" 200 7 "-" "x""#,
        "GET http://shop.test/a 200 @37230",
    ),
    (
        "Traefik",
        r#"10.1.2.3 - - [10/Jan/2024:10:20:30 +0000] "GET /a HTTP/1.1" 200 19 "-" "-" 6 "app@docker" "http://172.18.0.3:80" 2ms"#,
        "GET /a 200 @37230",
    ),
    (
        "ingress",
        r#"10.1.2.3 - - [10/Jan/2024:10:20:30 +0000] "GET /a HTTP/1.1" 200 19 "-" "x" 1 0.002 [ns-svc-80] [] 10.0.0.1:80 19 0.002 200 5fe"#,
        "GET /a 200 @37230",
    ),
    (
        "PHP-FPM",
        r#"- -  10/Jan/2024:10:20:30 +0000 "GET /index.php" 200"#,
        "GET /index.php 200 @37230",
    ),
    ("Django", r#"[10/Jan/2024 10:20:30] "GET /a HTTP/1.1" 200 512"#, "GET /a 200 @37230"),
    ("uvicorn, no time", r#"INFO:     127.0.0.1:51000 - "GET /a HTTP/1.1" 200 OK"#, "GET /a 200"),
    (
        "docker compose",
        r#"web-1  | 10.1.2.3 - - [10/Jan/2024:10:20:30 +0000] "GET /a HTTP/1.1" 200 1"#,
        "GET /a 200 @37230",
    ),
    (
        "container runtime",
        r#"2024-01-10T10:20:30.123456789Z stdout F 10.1.2.3 - - [10/Jan/2024:10:20:30 +0000] "GET /a HTTP/1.1" 200 1"#,
        "GET /a 200 @37230",
    ),
    (
        "syslog",
        r#"<190>Jan 10 10:20:30 web nginx: 10.1.2.3 - - [10/Jan/2024:10:20:30 +0000] "GET /a HTTP/1.1" 200 1"#,
        "GET /a 200 @37230",
    ),
    (
        "not HTTP",
        r#"10.1.2.3 - - [10/Jan/2024:10:20:30 +0000] "\x16\x03\x01" 400 157 "-" "-""#,
        "not http",
    ),
    ("nothing asked", r#"10.1.2.3 - - [10/Jan/2024:10:20:30 +0000] "-" 408 0"#, "not http"),
    ("HTTP/0.9", r#"10.1.2.3 - - [10/Jan/2024:10:20:30 +0000] "GET /" 400 0"#, "GET / 400 @37230"),
];

/// Objects of JSON.
pub(super) const OBJECTS: &[Case] = &[
    (
        "Caddy",
        r#"{"level":"info","ts":1704882030.5,"logger":"http.log.access.log0","msg":"handled request","request":{"remote_ip":"::1","method":"GET","host":"a.test","uri":"/x?y=1","headers":{"User-Agent":["curl"]}},"duration":0.01,"size":5,"status":200}"#,
        "GET /x?y=1 a.test 200 @37230",
    ),
    (
        "Caddy's error",
        r#"{"level":"error","ts":1704882030.5,"logger":"http.log.error","msg":"dial","request":{"method":"GET","host":"a.test","uri":"/x"},"status":502}"#,
        "error log",
    ),
    (
        "Caddy's start",
        r#"{"level":"info","ts":1704882030.5,"msg":"serving initial configuration"}"#,
        "other",
    ),
    (
        "Caddy in a console",
        "2024/01/10 10:20:30.500\tINFO\thttp.log.access\thandled request\t{\"request\": {\"method\": \"GET\", \"host\": \"a.test\", \"uri\": \"/x\"}, \"status\": 200}",
        "GET /x a.test 200 @37230",
    ),
    (
        "nginx, request line",
        r#"{"time":"2024-01-10T10:20:30+00:00","request":"GET /x?y HTTP/1.1","status":"200","uri":"/index.php"}"#,
        "GET /x?y 200 @37230",
    ),
    (
        "nginx, parts",
        r#"{"time_local":"10/Jan/2024:10:20:30 +0000","request_method":"GET","uri":"/index.php","request_uri":"/x?y","args":"y","status":200,"request_time":"0.005","http_host":"a.test"}"#,
        "GET /x?y a.test 200 @37230",
    ),
    (
        "nginx, path and query apart",
        r#"{"msec":"1704882030.123","request_method":"GET","uri":"/x","args":"y=1","status":"404"}"#,
        "GET /x?y=1 404 @37230",
    ),
    (
        "nginx, not HTTP",
        r#"{"time":"2024-01-10T10:20:30+00:00","request":"\u0016\u0003","status":"400"}"#,
        "not http",
    ),
    (
        "Traefik",
        r#"{"ClientAddr":"10.1.2.3:5","DownstreamStatus":200,"OriginStatus":200,"RequestHost":"a.test","RequestMethod":"GET","RequestPath":"/x?y","RequestProtocol":"HTTP/1.1","StartUTC":"2024-01-10T10:20:30.1Z","level":"info","msg":"","time":"2024-01-10T10:20:31Z"}"#,
        "GET /x?y a.test 200 @37230",
    ),
    (
        "Envoy",
        r#"{"start_time":"2024-01-10T10:20:30.310Z","method":"GET","path":"/x?y","protocol":"HTTP/2","response_code":200,"authority":"a.test"}"#,
        "GET /x?y a.test 200 @37230",
    ),
    (
        "Envoy behind a container runtime",
        r#"2024-01-10T11:20:31.1+01:00 stdout F {":authority":"a.test","method":"GET","response_code":404,"start_time":"2024-01-10T10:20:30.4Z","x-envoy-origin-path":"/x?y"}"#,
        "GET /x?y a.test 404 @37230",
    ),
    (
        "Fastly",
        r#"{"timestamp":"2024-01-10T10:20:30+0000","host":"a.test","url":"/x","request_method":"GET","response_status":200}"#,
        "GET /x a.test 200 @37230",
    ),
    (
        "a method as the request",
        r#"{"timestamp":"2024-01-10T10:20:30","request":"GET","url":"/x","status":"200"}"#,
        "GET /x 200 @37230",
    ),
    (
        "Google's load balancer",
        r#"{"httpRequest":{"requestMethod":"GET","requestUrl":"https://a.test/x","status":200,"responseSize":"512"},"timestamp":"2024-01-10T10:20:30.1Z"}"#,
        "GET https://a.test/x 200 @37230",
    ),
    (
        "Elastic's schema",
        r#"{"@timestamp":"2024-01-10T10:20:30Z","http":{"request":{"method":"GET"},"response":{"status_code":200}},"url":{"original":"/x?y"},"log":{"file":{"path":"/var/log/a"}}}"#,
        "GET /x?y 200 @37230",
    ),
    (
        "OpenTelemetry",
        r#"{"http.method":"GET","http.target":"/x?y","http.status_code":200,"time":"2024-01-10T10:20:30Z"}"#,
        "GET /x?y 200 @37230",
    ),
    (
        "pino",
        r#"{"level":30,"time":1704882030000,"req":{"method":"GET","url":"/x","headers":{"host":"a.test"}},"res":{"statusCode":200}}"#,
        "GET /x 200 @37230",
    ),
    (
        "Cloudflare",
        r#"{"ClientRequestHost":"a.test","ClientRequestMethod":"GET","ClientRequestURI":"/x?y","EdgeResponseStatus":200,"EdgeStartTimestamp":"2024-01-10T10:20:30Z"}"#,
        "GET /x?y a.test 200 @37230",
    ),
    (
        "Docker",
        r#"{"log":"10.1.2.3 - - [10/Jan/2024:10:20:30 +0000] \"GET /a\\x22 HTTP/1.1\" 200 1\n","stream":"stdout","time":"2024-01-10T10:20:30.5Z"}"#,
        "GET /a\" 200 @37230",
    ),
    (
        "Docker, an error log",
        r#"{"log":"2024/01/10 10:20:30 [error] 7#7: *1 open() failed, request: \"GET /a HTTP/1.1\", host: \"x\"\n","stream":"stderr","time":"2024-01-10T10:20:30.5Z"}"#,
        "error log",
    ),
    (
        "JSON in JSON",
        r#"{"log":"{\"request\":{\"method\":\"GET\",\"uri\":\"/x\"},\"status\":200}\n","stream":"stdout","time":"2024-01-10T10:20:30.5Z"}"#,
        "GET /x 200 @37230",
    ),
    (
        "behind syslog",
        r#"Jan 10 10:20:30 web caddy[7]: {"request":{"method":"GET","uri":"/x"},"status":200}"#,
        "GET /x 200",
    ),
    (
        "behind a container runtime",
        r#"2024-01-10T10:20:30.1Z stdout F {"method":"GET","path":"/x","status":200}"#,
        "GET /x 200 @37230",
    ),
    (
        "behind docker compose",
        r#"proxy-1  | {"method":"GET","path":"/x","status":200}"#,
        "GET /x 200",
    ),
    (
        "no method",
        r#"{"host":"a.test","path":"/x?y","status":"200","user_agent":"x","date":"2024-01-10T10:20:30+00:00"}"#,
        "GET /x?y a.test 200 @37230",
    ),
    (
        "a method that is empty",
        r#"{"method":"-","path":"/x?y","status":"400","user_agent":"x"}"#,
        "other",
    ),
    (
        "something else with a path",
        r#"{"level":"info","path":"/var/log/x","status":"200"}"#,
        "other",
    ),
    ("a request to send", r#"{"method":"GET","path":"/x","host":"a.test"}"#, "other"),
];

/// Pairs of name and value, and methods that stand alone.
pub(super) const PAIRS_AND_WORDS: &[Case] = &[
    (
        "Heroku",
        r#"2024-01-10T10:20:30.5+00:00 heroku[router]: at=info method=GET path="/x?y=1" host=a.test request_id=1 fwd="1.2.3.4" dyno=web.1 connect=0ms service=2ms status=200 bytes=5"#,
        "GET /x?y=1 a.test 200 @37230",
    ),
    (
        "Grafana",
        r#"logger=context t=2024-01-10T10:20:30.5Z level=info msg="Request Completed" method=GET path=/x status=302"#,
        "GET /x 302 @37230",
    ),
    (
        "LTSV",
        "time:[10/Jan/2024:10:20:30 +0000]\thost:10.1.2.3\treq:GET /x HTTP/1.1\tstatus:200\tsize:5",
        "GET /x 200 @37230",
    ),
    (
        "LTSV, parts",
        "time:2024-01-10T10:20:30Z\tmethod:GET\turi:/x?y\tstatus:200\tvhost:a.test",
        "GET /x?y a.test 200 @37230",
    ),
    (
        "nginx-proxy-manager",
        r#"[10/Jan/2024:10:20:30 +0000] - 200 200 - GET https shop.test "/x?y=1" [Client 10.1.2.3] [Length 5] [Gzip -] [Sent-to 10.0.0.2] "agent" "-""#,
        "GET /x?y=1 shop.test 200 @37230",
    ),
    (
        "Squid",
        "1704882030.123    45 10.1.2.3 TCP_MISS/200 5230 GET http://a.test/x - HIER_DIRECT/1.2.3.4 text/html",
        "GET http://a.test/x 200 @37230",
    ),
    (
        "gin",
        r#"[GIN] 2024/01/10 - 10:20:30 | 200 |     1.2ms |  10.1.2.3 | GET      "/x""#,
        "GET /x 200 @37230",
    ),
    (
        "PHP's server",
        "[Wed Jan 10 10:20:30 2024] 127.0.0.1:53422 [200]: GET /x?y",
        "GET /x?y 200 @37230",
    ),
    ("morgan, with colours", "\x1b[0mGET /x \x1b[32m200\x1b[0m 5.123 ms - 12\x1b[0m", "GET /x 200"),
    ("status between", r#"da11 token GET 200 /x "HTTP/1.1""#, "GET /x 200"),
    ("Rails", r#"Started GET "/x" for 10.1.2.3 at 2024-01-10 10:20:30 +0000"#, "GET /x @37230"),
    ("a sentence", "to fetch a user, GET /users/1 returns it", "other"),
    ("a target of vegeta", "GET http://a.test/x", "other"),
];
