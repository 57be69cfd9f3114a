/// A chapter of the documentation page: what holds for all operations.
struct DocumentGuide {
    var title: String
    var html: String

    static let all = [
        DocumentGuide(
            title: "First call",
            html: """
                <p>A program authenticates with an API key. The console issues one (<i>API keys</i>,
                <i>New key</i>), and so does a shell on the server:</p>
                <pre tabindex="0"
                class="call">gatehouse key issue --scopes tenants:read --name first</pre>
                <p>The key is shown once. Keep it in a variable, with the address of your server in
                another, and ask who you are:</p>
                <pre tabindex="0" class="call">export URL=https://id.example.com KEY=gate_live_…
                curl -H "Authorization: Bearer $KEY" "$URL/v1/me"</pre>
                <p>All calls on this page use <code>URL</code>, the address of your server, and
                <code>KEY</code>, an API key. Some use further variables: <code>TENANT</code> is the
                id or the slug of a tenant, <code>ID</code> the id of the object, <code>ETAG</code>
                its version, <code>ID_TOKEN</code> an id token of a provider.</p>
                <p>Bodies are JSON in snake_case; times are RFC 3339 in UTC; ids are UUIDs. The
                server refuses an unknown member of a body and an unknown parameter, so a typing
                error in such a name is never ignored. The answer to a creation is 201, and that to
                a longer task 202 with a job; the header field <code>Location</code> has the path of
                the new object or job. A refusal is <code>application/problem+json</code>: branch on
                its <code>code</code>; <a href="/docs/errors">all errors</a> explains each.</p>
                """),
        DocumentGuide(
            title: "Lists",
            html: """
                <p>A list has <code>items</code>, <code>next_cursor</code> and <code>total</code>.
                <code>limit</code> (1 to 200, otherwise 50) is the size of a page. For the next
                page, send <code>next_cursor</code> as <code>cursor</code> with the same filters and
                order; the header field <code>Link</code> has this address, too. After the last
                page, <code>next_cursor</code> is null. An object that is added or removed meanwhile
                moves no other to another page.</p>
                <pre tabindex="0" class="call">curl -H "Authorization: Bearer $KEY" \\
                  "$URL/v1/tenants/$TENANT/users?limit=200&amp;sort=-created_at"</pre>
                <p><code>total.exact</code> is false if counting stopped early; there are then at
                least <code>total.value</code> items.</p>
                <p>With <code>Accept: text/csv</code> or <code>Accept: application/x-ndjson</code> a
                list comes whole, as a file, with the same filters and order. It has no pages: a
                request with <code>limit</code> or <code>cursor</code> is refused (422). A file that
                ends with a cut connection is not whole.</p>
                <pre tabindex="0" class="call">curl -H "Authorization: Bearer $KEY" \\
                  -H "Accept: text/csv" "$URL/v1/tenants/$TENANT/users" &gt; users.csv</pre>
                """),
        DocumentGuide(
            title: "Retries",
            html: """
                <p>Send an <code>Idempotency-Key</code>, a new random value, with each
                <code>POST</code> that takes one. A repetition with the same key and body within 24
                hours gets the stored response of the first request, with <code>Idempotent-Replayed:
                true</code>, and changes nothing. So after a broken connection, a timeout or a 5xx,
                repeat the request with the same key until it is answered. Wait for
                <code>Retry-After</code>, or double the pause each time. Check that the value is not
                empty, for example because <code>uuidgen</code> is not installed: curl then sends no
                key, and nothing protects the repetition.</p>
                <pre tabindex="0" class="call">curl -X POST "$URL/v1/tenants/$TENANT/invites" \\
                  -H "Authorization: Bearer $KEY" \\
                  -H "Idempotency-Key: $(uuidgen)" \\
                  -H 'Content-Type: application/json' \\
                  -d '{"email":"ada@example.com"}'</pre>
                <p>A stored response is what the operation itself answered: a success, or a refusal
                such as 404, 409, 412 or a 422 by a rule of the tenant. So a 409 is repeated even if
                its cause is gone: to try again after a change, use a new key. Not stored are 401,
                429, 5xx and <code>step_up_required</code>, and what is refused before the operation
                runs: a body that does not fit its schema (400, 415, 422), a missing scope (403), a
                missing <code>If-Match</code> (428). Then the same key works again. In a repeated
                refusal, <code>request_id</code> is that of the first request; the header field
                <code>X-Request-Id</code> is that of the repetition.</p>
                <p><code>commit_unknown</code> (503) means that the connection to the database broke
                while a change was being committed, so the server does not know whether it was made.
                With an <code>Idempotency-Key</code>, repeat the request: the stored response was
                written in the same transaction as the change, so you get it if the change was made,
                and otherwise the request runs. Until that is known, the answer is 409
                <code>request_in_progress</code> with <code>Retry-After</code>. Without a key, read
                the object before you repeat. A 4xx and <code>unavailable</code> mean that nothing
                was changed. <code>GET</code> and <code>DELETE</code> may be repeated as they are, a
                <code>PUT</code> with the object's <code>ETag</code> of now.</p>
                """),
        DocumentGuide(
            title: "Versions of objects",
            html: """
                <p>An object has a version, which each change makes a new one. The response has it
                as <code>ETag</code>. Send it as <code>If-Match</code> when you change the object:
                if another caller has changed it since, the answer is 412
                <code>precondition_failed</code>, and nothing is overwritten. Some operations
                require <code>If-Match</code>, and answer 428 without it; <code>If-Match: *</code>
                takes any version.</p>
                <pre tabindex="0" class="call">ETAG=$(curl -s -o policy.json -w '%header{etag}' \\
                  -H "Authorization: Bearer $KEY" "$URL/v1/tenants/$TENANT/policy")
                curl -X PUT "$URL/v1/tenants/$TENANT/policy" -H "If-Match: $ETAG" \\
                  -H "Authorization: Bearer $KEY" -H 'Content-Type: application/json' \\
                  --data-binary @policy.json</pre>
                <p>A <code>PUT</code> may repeat the whole object as it was read: members that only
                the server writes are ignored if they are unchanged. <code>If-None-Match</code> with
                an <code>ETag</code> gets 304 without a body while that version is current.</p>
                """),
        DocumentGuide(
            title: "Rate limits",
            html: """
                <p>An API key may have a limit of requests per minute. Each response then has
                <code>RateLimit-Limit</code>, <code>RateLimit-Remaining</code> and
                <code>RateLimit-Reset</code> (in seconds). Beyond the limit the answer is 429
                <code>rate_limited</code> with <code>Retry-After</code>. Sign-ins, mails and tries
                of passwords have limits of their own, for each person and address.</p>
                """),
        DocumentGuide(
            title: "Versions of the API",
            html: """
                <p>The promise holds from version 1.0.0 on. A version such as 1.0.0-rc.1 is a
                candidate for it: its API is meant to stay as it is, and may still change until
                1.0.0 is released.</p>
                <p>Everything under <code>/v1</code> is stable: it grows, and nothing of it is taken
                away or changes its meaning. New operations, new optional members of bodies, new
                parameters, new members of answers, and new values of texts in answers
                (<code>x-extensible-enum</code> in <a href="/openapi.json">/openapi.json</a>) may
                come at any time. So ignore members that you do not know, and treat an unknown value
                as such. What is replaced is announced by the header fields <code>Deprecation</code>
                and <code>Sunset</code>, and works for at least 12 months after.</p>
                """),
    ]
}
