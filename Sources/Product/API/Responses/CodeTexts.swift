/// What the page of all errors says of a code.
package struct CodeText {
    /// When the server answers with the code.
    package let cause: String
    /// What the caller does about it.
    package let remedy: String

    init(_ cause: String, _ remedy: String) {
        self.cause = cause
        self.remedy = remedy
    }
}

extension Code {
    /// What the page of all errors says of this code.
    package var text: CodeText {
        Self.requestTexts[rawValue] ?? Self.reasonTexts[rawValue] ?? CodeText("", "")
    }

    /// The texts of the codes that are not reasons of the rules.
    private static let requestTexts: [String: CodeText] = [
        "invalid_request": CodeText(
            """
            The server could not understand the request: the body is empty or not JSON, a header \
            is malformed or sent twice, an API key is in the URL, or the server does not serve \
            this `Host` (421). An app's sign-in also answers so if the sign-in has expired, was \
            ended by the provider or cannot be verified, or if the client's secret at the provider \
            must be set again.
            """,
            """
            Correct what `detail` names before you send the request again. If a sign-in has expired, start it again. Replace an API key that \
            you sent in a URL, because logs may contain it.
            """),
        "validation_failed": CodeText(
            """
            Members of the body or query parameters are missing, unknown or wrong, or a rule of \
            the tenant does not permit them. `errors` lists up to 100 of them, each with \
            `pointer`, `code` and `detail`.
            """,
            """
            Correct every entry of `errors`, then send the request again. A `pointer` that begins \
            with `?` is a query parameter, and an empty one is the whole body.
            """),
        "unauthorized": CodeText(
            """
            The request has no credential or no valid one: the key is unknown, expired, revoked or \
            rotated, the session has ended, or a password, code, link or signature is wrong.
            """,
            """
            Send `Authorization: Bearer` with a valid API key or access token. If the key has \
            ended, get a new one; if the session has ended, sign in again. If a password, code or \
            signature was wrong, correct it; ask for a new link if it was a link.
            """),
        "forbidden": CodeText(
            """
            The credential is valid but does not permit this: a right is missing, the key is not \
            allowed from this address or origin, or you would act on a higher role or give more \
            rights than you have. A refused sign-in also gets this code, and so does a write of \
            the console without the header `X-Gatehouse-Console`.
            """,
            """
            Use a credential with the scope or the right that `detail` names, or ask an operator \
            for one: `GET /v1/scopes` lists the rights of each scope. If `detail` has a reference, \
            give it to an operator, who finds the reason by it. If the key is not allowed from \
            your address or origin, have its `allowed_ips` or `allowed_origins` changed. The \
            console's session sends `X-Gatehouse-Console: 1` with every write.
            """),
        "not_found": CodeText(
            """
            There is no such path or object, or the credential may not see it: an object of \
            another tenant gets the same answer. A link that is wrong, was used or has expired \
            gets it too if it is for a password or an email change, or for 'this was not me'.
            """,
            """
            Check the path, the tenant and the id, and whether the credential belongs to that \
            tenant. Ask for a new link if it was for a password or an email change.
            """),
        "method_not_allowed": CodeText(
            "The path exists, but not for this method.",
            "Use one of the methods in the header `Allow`."),
        "conflict": CodeText(
            """
            The request does not fit what is stored: another object has the value, the object is \
            suspended, deleted, revoked or merged, a maximum number is reached, or the server \
            lacks something such as a mail server. Rarely, a retry has taken over the \
            `Idempotency-Key` of this request.
            """,
            """
            Read `detail`, and the object in `conflicting_id` if there is one. Then change that \
            object or your request, and send it with a new `Idempotency-Key`; if a retry took over \
            the key, use the answer of the retry.
            """),
        "precondition_failed": CodeText(
            """
            The object has changed since you read it: `If-Match` does not have its current `etag`. \
            In a bulk action, the number of objects is `count`, not the `expected` one. Nothing \
            was changed.
            """,
            """
            Read the object with GET, apply your change to it, and send the new `etag` in \
            `If-Match`; a weak tag (`W/"…"`) never matches. In a bulk action, look at the list \
            again and send the new number.
            """),
        "precondition_required": CodeText(
            """
            This endpoint replaces something whole: a policy, an attribute schema or a list of \
            origins. It needs `If-Match`, so that you do not overwrite a change that you have not \
            seen. Other changes take `If-Match`, but do not need it.
            """,
            """
            Read the object with GET and send its `etag` in `If-Match`. Send `If-Match: *` only if \
            you want to replace whatever is there.
            """),
        "unsupported_media_type": CodeText(
            """
            The endpoint does not read a body of this `Content-Type`, or the body has a \
            `Content-Encoding` that it does not accept.
            """,
            """
            Send the type that `detail` names, which is `application/json` for most endpoints. \
            Send the body uncompressed; only an import may be `gzip`.
            """),
        "payload_too_large": CodeText(
            """
            The body is larger than the endpoint accepts, which is 1 MB for most. Of an import, \
            the file may also be too large unpacked.
            """,
            """
            Send less: split a list over several requests, or a file over several imports.
            """),
        "origin_not_allowed": CodeText(
            """
            A browser sent this from a page whose origin is not on the tenant's or the platform's \
            list, or whose entry does not permit cookies. A preflight also fails for a method or a \
            header that the path does not take, and the list of a suspended tenant does not count.
            """,
            """
            Add the page's origin with `POST /v1/tenants/{tenant}/cors-origins`, or \
            `/v1/cors-origins` for the platform; with `credentials` if it sends cookies to an \
            app's path. The console's cookie is never accepted from another origin. \
            `POST /v1/cors/evaluate` names the reason.
            """),
        "confirm_required": CodeText(
            """
            The request would remove something for good or cut off access, so it must be \
            confirmed: a purge, an erasure, the removal of a provider with identities, or of the \
            origin that the request comes from. A changed inactivity rule of a policy needs a dry \
            run first.
            """,
            """
            Check what the answer names, then send the same request with its `confirm` value as \
            the query parameter `confirm`. For a policy, send it with `dry_run=true`, and within \
            an hour without it.
            """),
        "domain_unproved": CodeText(
            """
            The DNS does not have the TXT record that proves the domain: the name `record_name` \
            with the value `record_value`, both in `verification` of the domain.
            """,
            """
            Publish the record, wait until your name servers answer with it, and send the request \
            again.
            """),
        "undo_conflict": CodeText(
            """
            The merge cannot be undone, because something has changed since or its 30 days are \
            over; `conflicts` lists all reasons, and nothing was changed. In the report of an \
            import's undo, the row stays as it is.
            """,
            """
            Resolve what `conflicts` names, for example undo a later merge or restore the winner, \
            and send the request again. If the 30 days are over, correct the users by hand.
            """),
        "job_state": CodeText(
            """
            The job's state does not allow this: only a running or queued job can pause, only a \
            paused one can resume, only one that has not ended and is not being undone can be \
            cancelled, and only an ended one that changed something and is not undone yet can be \
            undone, for 30 days. A server of an older version may not know the kind of the job.
            """,
            """
            Read the job with `GET /v1/tenants/{tenant}/jobs/{id}`, and send what its `status` \
            allows, or wait until it has ended. If nothing can be undone, no request is needed. If \
            a server does not know the kind of the job, try again after all servers have been \
            upgraded.
            """),
        "idempotency_mismatch": CodeText(
            """
            The credential has used this `Idempotency-Key` for the same method and path, but with \
            another body. Nothing was done.
            """,
            """
            Use a new key for a new request. For a retry, send exactly the bytes of the first \
            body: another order of the members or another multipart boundary is another body.
            """),
        "commit_unknown": CodeText(
            """
            The database did not confirm the change before the connection broke or the request's \
            time was over, so it is unknown whether the change was made.
            """,
            """
            Send the same request with the same `Idempotency-Key` if the endpoint takes one and \
            you sent one: you get the stored answer if the change was made, and otherwise it is \
            made now. For about 10 seconds the answer can be `request_in_progress`. Without a key, \
            read the object or the list, and send the request again only if the change is missing.
            """),
        "sign_up_closed": CodeText(
            """
            The tenant's policy has `sign_up` set to `closed`, so no invites and join links can be \
            made, and no invite can be sent again.
            """,
            """
            Change `sign_up` with `PUT /v1/tenants/{tenant}/policy`, then send the request again, \
            with a new `Idempotency-Key`: with the old one you get this stored answer.
            """),
        "email_taken": CodeText(
            """
            Another user of the tenant has this address, got it by a merge, or had it in the last \
            30 days; for an invite, the person is an active user already; for an operator, another \
            operator has it. `conflicting_id` is the user, where the answer has it.
            """,
            """
            Use another address, or work with the existing user: change it, or merge the two \
            records of one person.
            """),
        "request_in_progress": CodeText(
            """
            The first request with this `Idempotency-Key` has not ended yet, or its server was \
            lost, or its outcome was `commit_unknown`.
            """,
            """
            Send the same request again after the seconds in `Retry-After`. At the latest 10 \
            seconds after the first request you get its stored answer, or else the request runs \
            now.
            """),
        "idempotency_quota": CodeText(
            """
            The credential already has 100,000 stored responses, or 64 MB of them, and this \
            `Idempotency-Key` is a new one. Nothing was done.
            """,
            """
            Wait the seconds in `Retry-After`: stored responses end after 24 hours unless the \
            server is set otherwise. Retries with earlier keys still work. Without a key the \
            request runs, but a retry may then run it twice.
            """),
        "step_up_required": CodeText(
            """
            An operator's session in the console needs a proof from the last `max_age` seconds \
            that the operator is there, or lacks the second factor of the account. API keys and \
            access tokens never get this code.
            """,
            """
            Prove it by one of `methods`: with `POST /v1/session/step-up`, or for `provider` by \
            opening `GET /v1/session/step-up/provider`. Then send the request again with the new \
            cookie; the same `Idempotency-Key` still works. If `methods` is empty, do one of the \
            things in `remedies`.
            """),
        "second_factor_required": CodeText(
            """
            With status 401, the sign-in of an operator lacks a valid code of the second factor. \
            With 403, the operator's role needs a second factor, and the time to set one up is \
            over.
            """,
            """
            Sign in again with a passkey, or with the password and `totp` or `recovery_code`; \
            `methods` names what the account has. After a 403, set up an authenticator app or a \
            passkey at `/console/me` first.
            """),
        "internal_error": CodeText(
            """
            Something went wrong in the server itself. Its log has the details under the \
            `request_id`.
            """,
            """
            Give the `request_id` to the people who run the server. Read the object before you \
            send a change again, because it may have been made.
            """),
    ]

    /// The texts of the reasons for which the rules refuse a person. Most of them are also the
    /// `reason` of a decision.
    private static let reasonTexts: [String: CodeText] = [
        "email_missing": CodeText(
            """
            The provider sent no email address, or did not return it when asked for it, and no \
            user has this sign-in yet.
            """,
            """
            Ask the person to let the provider share the address, and to sign in again. The \
            operator checks that the provider is set up to send it, or links the sign-in by hand \
            with `POST /v1/tenants/{tenant}/users/{id}/identities`.
            """),
        "email_invalid": CodeText(
            """
            The address is not a valid email address, or has letters beyond ASCII before the `@`.
            """,
            """
            Ask the person for another address, or correct the address at the provider.
            """),
        "email_unverified": CodeText(
            """
            It is not proved that the address is the person's: (1) the provider does not state \
            that it verified the address, or is not trusted to state it; (2) the person would join \
            by a verified domain, and the provider is not authoritative for it; (3) several of the \
            person's addresses are invited. Until an address is proved, strangers get this reason \
            in place of most others, so that they learn nothing.
            """,
            """
            If the provider does not say that the address is verified, ask the person to verify it \
            there, or to use the link of a mailed invite. If it says so and may be trusted, set its \
            `email_trust` to `verified_claim`. That is not enough if rule `9` of the trace has the \
            detail `not authoritative`: then invite the address, or set `email_trust` to \
            `authoritative` and add the domain to `domains`. Google needs no such setting for \
            accounts whose `hd` is the domain. If several addresses are invited, revoke all invites \
            but one.
            """),
        "user_suspended": CodeText(
            """
            The person's account in this tenant is suspended, by an operator or by the rule for \
            unused accounts. The user's keys get this code too. A new invite of the person gets \
            this code with status 409.
            """,
            """
            Ask an operator to resume the user with \
            `POST /v1/tenants/{tenant}/users/{id}/resume`. Until then, the person cannot get in \
            here; accounts in other tenants still work.
            """),
        "user_deleted": CodeText(
            """
            The person's account in this tenant was deleted or purged, and for 30 days neither the \
            address nor the sign-in gets in without an operator. In the report of an import, the \
            row is of such a user.
            """,
            """
            Restore a user who was not purged with \
            `POST /v1/tenants/{tenant}/users/{id}/restore`, or invite the person again, who then \
            gets a new account. In an import, leave out a row that the file marks as deleted.
            """),
        "tenant_suspended": CodeText(
            """
            The tenant is suspended by the platform or by its own owner. Its sign-ins, sessions \
            and keys are refused, except what an owner needs to end a suspension by the tenant \
            itself.
            """,
            """
            If the tenant suspended itself, one of its owners signs in at the console and resumes \
            it (`POST /v1/tenants/{tenant}/resume`). If the platform suspended it, only the \
            platform can resume it.
            """),
        "tenant_deleted": CodeText(
            "The tenant that the sign-in, the invite or the link is for was deleted.",
            """
            Restore it within 30 days with `POST /v1/tenants/{tenant}/restore`, or name another \
            tenant.
            """),
        "approval_pending": CodeText(
            """
            The person has asked to join the tenant, and no operator has approved it yet.
            """,
            """
            Ask the person to wait and to sign in again later. An operator answers with \
            `POST /v1/tenants/{tenant}/users/{id}/approve` or `…/decline`.
            """),
        "invite_unknown": CodeText(
            """
            No invite has this token, for example because it was sent again with a new link. The \
            preview of an invite answers so for every link that admits no one, whatever the reason.
            """,
            """
            Ask the person to open the whole link of the latest mail, or an operator for a new \
            invite. The operator finds the reason with `GET /v1/failed-sign-ins?reference=…`.
            """),
        "invite_expired": CodeText(
            "The invite expired before the person used it.",
            """
            Ask an operator to send it again with \
            `POST /v1/tenants/{tenant}/invites/{id}/resend`, which makes a new link.
            """),
        "invite_revoked": CodeText(
            """
            The invite was revoked by someone with the right, declined by the person, or replaced \
            by a newer one, or the person's user was suspended, deleted or merged. It admits no \
            one, and cannot be sent again.
            """,
            """
            Make a new invite with `POST /v1/tenants/{tenant}/invites` if the person may join \
            after all.
            """),
        "invite_used": CodeText(
            """
            The invite was accepted already. It admits no one else, and cannot be revoked or sent \
            again.
            """,
            """
            Ask the person who accepted it to sign in without the link. Invite another person \
            separately.
            """),
        "invite_email_mismatch": CodeText(
            """
            The person came with another address than the invited one. The invite stays valid.
            """,
            """
            Ask the person to sign in with the invited address, spelled the same way. The operator \
            can also invite the other address, or set `invite_email_must_match` of the policy to \
            false.
            """),
        "join_unknown": CodeText(
            """
            No join link has this token. The preview of a join link answers so for every link that \
            admits no one, whatever the reason.
            """,
            """
            Ask the person to open the whole link, or an operator for a new one. The operator \
            finds the reason with `GET /v1/failed-sign-ins?reference=…`.
            """),
        "join_expired": CodeText(
            "The join link has expired.",
            """
            Ask an operator for a new one, made with `POST /v1/tenants/{tenant}/join-links`. \
            People who have joined sign in without the link.
            """),
        "join_revoked": CodeText(
            """
            The join link was revoked, or the person or key that made it may no longer invite.
            """,
            """
            Ask an operator who may invite for a new one. People who have joined sign in without \
            the link.
            """),
        "join_used_up": CodeText(
            "As many people have joined by this link as its `max_uses` permits.",
            """
            Ask an operator for a new link with a larger `max_uses`. People who have joined sign \
            in without the link.
            """),
        "identity_link_required": CodeText(
            """
            A user of the tenant has this address with another sign-in, and the new one is not \
            added automatically, or an operator has unlinked this sign-in. At the page of an \
            invite, the account is active already.
            """,
            """
            Ask the person to sign in as before, or to add the new sign-in at \
            `/t/{tenant}/sign-in`. The operator makes sure whose account it is, then makes a link \
            grant with `POST /v1/tenants/{tenant}/users/{id}/link-grants`.
            """),
        "identity_conflict": CodeText(
            """
            The sign-in belongs to another user of the tenant, and is never moved. At a Cognito \
            pool, the user name looks like one of another provider, or the pool has given it to \
            another person.
            """,
            """
            Merge the two records if they are one person, or unlink the sign-in from the wrong \
            user. At a pool, the person takes another user name, or an operator invites the \
            person.
            """),
        "not_invited": CodeText(
            """
            The tenant does not admit this address: `sign_up`, `allowed_domains`, the mode of its \
            domain or the `domains` of the join link exclude it, or an operator declined the \
            person in the last 30 days.
            """,
            """
            Ask an operator for an invite; if `sign_up` is `closed`, or `external_invites` is \
            false for an address outside `allowed_domains`, the operator must change the policy \
            first. `would_admit` of the decision lists the changes that would admit the person \
            (`GET …/provisioning/decisions/{id}?would_admit=true`).
            """),
        "no_tenant": CodeText(
            """
            No tenant admits the address. If a tenant was named: it has no user, invite, join link \
            or verified domain for the address and is not open to everyone, or it does not exist, \
            or different tenants were named. If none was named: no tenant has a user, an invite or \
            a verified domain for the address.
            """,
            """
            Invite the address, or let its people join: by a verified domain, or by `sign_up` \
            `approval` or `open` of the policy, which needs the tenant to be named. `would_admit` of \
            the decision lists such changes. If no tenant was named or a wrong one, name the right \
            one in `tenant`.
            """),
        "provider_unknown": CodeText(
            """
            The provider of the attempt is not registered, or the provider behind the pool is not \
            in `upstreams` while `strict_upstreams` is on. No other rule was applied.
            """,
            """
            Register the provider with `POST /v1/providers`, or add the missing one to \
            `upstreams`. Its kind and issuer must be those of the attempt, byte for byte.
            """),
        "tenant_choice_required": CodeText(
            """
            This is no refusal: several tenants are open to the person, and `choices` lists them. \
            The `outcome` is `deferred`, or `existing` if the person is a user of several.
            """,
            """
            Let the person choose, and send the attempt again with the chosen tenant as `tenant`.
            """),
        "email_blocked": CodeText(
            """
            The tenant's policy blocks the address by `blocked_emails`, `blocked_domains` or \
            `block_disposable`.
            """,
            """
            Ask the person for another address. The operator can remove the entry from the policy, \
            or create the user with `POST /v1/tenants/{tenant}/users`, to whom the block does not \
            apply.
            """),
        "rate_limited": CodeText(
            """
            A limit is reached: requests of the key in a minute, wrong passwords, codes or links, \
            dry runs, invites, mails, jobs, or work at the same time. As the `reason` of a \
            decision, too many attempts were refused within a minute, or 1,000 people wait for \
            approval.
            """,
            """
            Wait the seconds in `Retry-After`, or a minute without that header, then send the \
            request again. To slow down in time, read `RateLimit-Remaining` and `RateLimit-Reset`, \
            which every answer to a key with a limit has. If 1,000 people wait for approval, an \
            operator must first approve or decline some; if too many invites are pending, revoke \
            some.
            """),
        "unavailable": CodeText(
            """
            The server cannot do this now and has not made the change: the database does not \
            answer, the request's time is over, a provider or name server is not reachable, or too \
            many exports or streams are running.
            """,
            """
            Send the same request again after the seconds in `Retry-After`; this is safe.
            """),
    ]
}

extension FieldCode {
    /// What is wrong with a member, and what the caller does about it.
    var text: String {
        switch self {
        case .required:
            "The member, query parameter or part is missing. Send it."
        case .unknown:
            "There is nothing of this name here. Correct the name, or leave it out."
        case .duplicate:
            "The query parameter, part or entry of a list is there twice. Send it once."
        case .changed:
            """
            The member is read-only, and its value is not the stored one. Send it as GET returned \
            it, or leave it out.
            """
        case .wrongType:
            """
            The value has the wrong JSON type, such as a string instead of a number. Send the type \
            that `detail` names.
            """
        case .isNull:
            "The member must not be `null`. Send a value, or leave out an optional member."
        case .tooShort:
            "The text or list is shorter than `detail` allows. Send a longer one."
        case .tooLong:
            """
            The text, list or object is longer than `detail` allows, or a filter selects too many \
            rows. Shorten it, or split the request.
            """
        case .outOfRange:
            "The number or time is outside the range that `detail` names. Send one within it."
        case .invalid:
            """
            The value does not have the required form, such as that of an email address, a UUID or \
            an RFC 3339 time. In a query, write `+` as `%2B`.
            """
        case .notAllowed:
            """
            The value is well formed, but not permitted here, by the list of values, a rule of the \
            tenant or a setting of the server. Send what `detail` permits.
            """
        case .readOnly:
            "Only the server sets this member. Leave it out."
        }
    }
}
