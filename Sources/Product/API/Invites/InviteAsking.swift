import Domain
import JSON
import Storage
import Text

/// Reads invites from a body, and converts refusals of the storage layer to problems.
enum InviteAsking {
    static func request(
        _ input: Input, _ inviting: Inviting, at pointer: String = ""
    ) throws -> InviteRequest {
        var errors: [FieldError] = []
        let text = try input.string("email")
        var email: EmailAddress?
        do throws(EmailFault) {
            email = try EmailAddress(text)
        } catch {
            errors.append(FieldError(pointer + "/email", .invalid, error.mend))
        }
        let expires = input.optionalTimestamp("expires_at")
        errors += [
            expires.flatMap { endFault($0, inviting.now, at: pointer) },
            deliveryFault(input, inviting.application, at: pointer),
            ReturnAddress.fault(input, inviting.returns, at: pointer),
        ].compactMap { $0 }
        guard errors.isEmpty, let email else { throw Problem.invalid(errors) }
        var request = InviteRequest(
            email: email, role: input.optionalString("role").flatMap(UserRole.init),
            expiresAt: expires, message: input.optionalString("message"),
            delivery: delivery(input, inviting.application), resend: input.flag("resend"),
            widest: Permissions.widestInvite(inviting.principal, in: inviting.tenant))
        for role in UserRole.allCases {
            request.lacks[role] = Permissions.lacking(
                inviting.principal, for: role, in: inviting.tenant)
        }
        request.latest = inviting.principal.expiry
        request.externalID = input.optionalString("external_id")
        request.attributes = input.attributes(on: AttributePair())
        request.returnTo = input.optionalString("return_to")
        return request
    }

    static func endFault(
        _ end: Timestamp, _ now: Timestamp, at pointer: String = ""
    ) -> FieldError? {
        guard !Invite.lifetimes.contains(seconds(from: now, to: end)) else { return nil }
        return FieldError(
            pointer + "/expires_at", .outOfRange, "must be 5 minutes to 90 days in the future")
    }

    /// The error if the body asks to send the invite by mail although there is no mail server;
    /// otherwise `nil`. The error says that the link can be shown instead.
    static func deliveryFault(
        _ input: Input, _ application: Application, at pointer: String = ""
    ) -> FieldError? {
        guard input.optionalString("delivery") == "mail", !application.sendsMail else {
            return nil
        }
        return FieldError(
            pointer + "/delivery", .notAllowed, "needs a mail server; `link` shows the link instead"
        )
    }

    static func delivery(_ input: Input, _ application: Application) -> Invite.Delivery {
        input.optionalString("delivery").flatMap(Invite.Delivery.init)
            ?? (application.sendsMail ? .mail : .link)
    }

    /// If the invite is sent by mail, puts the mail into the outbox in the same transaction.
    /// Returns the result for the caller, which contains the token only if the invite is not sent
    /// by mail.
    static func posted(
        _ result: InviteResult, _ change: Change, _ database: Database, _ publicURL: String
    ) async throws -> InviteResult {
        guard let token = result.token, sameBytes(result.invite.delivery, "mail") else {
            return result
        }
        let invite = result.invite
        let isSent = try await change.post(
            OutgoingMail(
                .invite, to: invite.email, tenantName: try await change.tenantName(),
                link: invite.acceptURL(token, publicURL),
                inviter: invite.inviterName, role: invite.role.rawValue, message: invite.message,
                expiresAt: invite.expiresAt),
            about: invite.id, as: invite.mailID)
        if isSent { return InviteResult(outcome: result.outcome, invite: invite) }
        let shown = try await change.lockInvite(invite.id)
        return InviteResult(outcome: result.outcome, invite: shown)
    }

    private static func seconds(from now: Timestamp, to end: Timestamp) -> Int64 {
        let gap = end.microseconds.subtractingReportingOverflow(now.microseconds)
        return gap.overflow ? .max : gap.partialValue / 1_000_000
    }

    /// Creates the invites of a list in one transaction, each with its own result. The addresses
    /// are locked in a fixed order, so that two lists cannot deadlock.
    static func list(_ inputs: [Input], _ call: Call) async throws -> JSONValue {
        var results = [JSONValue](repeating: .null, count: inputs.count)
        var asked: [(index: Int, request: InviteRequest)] = []
        let inviting = try await call.inviting(inputs)
        for (index, input) in inputs.enumerated() {
            let pointer = "/invites/\(index)"
            do {
                asked.append((index, try request(input, inviting, at: pointer)))
            } catch {
                let email = input.optionalString("email") ?? ""
                results[index] = refused(index, email, Problem(error) ?? .internalError)
            }
        }
        asked.sort { ($0.request.email.key, $0.index) < ($1.request.email.key, $1.index) }
        let (requests, checked) = (asked, results)
        if call.isDryRun { try await call.takeDryRuns(max(1, requests.count / 100)) }
        if requests.count >= Database.largeWrite { await call.database.analyzeGrownTables() }
        let made = try await call.making(dryRun: call.isDryRun) { change in
            var results = checked
            var left = try await change.mailsLeft(.invite)
            var quotas = try await change.inviteQuotas()
            for (index, request) in requests {
                var request = request
                request.mailsLeft = left
                request.quotas = quotas
                if request.delivery == .mail { left -= 1 }
                results[index] = try await line(index, request, change, call.database, call)
                if results[index]["result"]?.string == "created" { quotas.use() }
            }
            return results
        }
        return .object([.init("results", .array(made))])
    }

    private static func line(
        _ index: Int, _ request: InviteRequest, _ change: Change, _ database: Database, _ call: Call
    ) async throws -> JSONValue {
        do {
            let made = try await change.invite(request)
            if made.token != nil, !call.isDryRun {
                try call.requireRecentSignIn(forInvite: made.invite.role)
            }
            let result = try await posted(made, change, database, call.application.publicURL)
            let token = call.isDryRun ? nil : result.token
            return entry(
                index, request.email.original, result.outcome.rawValue,
                result.invite.json(
                    at: call.now, token: token, publicURL: call.application.publicURL,
                    maker: call.principal.subject.expiry), nil)
        } catch {
            // A refusal of one invite becomes its result. A database error or a missing proof of
            // presence fails the whole list.
            guard let problem = Problem(error), problem.status < 500,
                problem.code != .stepUpRequired
            else { throw error }
            return refused(index, request.email.original, problem)
        }
    }

    private static func refused(_ index: Int, _ email: String, _ problem: Problem) -> JSONValue {
        entry(index, email, "refused", .null, problem)
    }

    private static func entry(
        _ index: Int, _ email: String, _ result: String, _ invite: JSONValue, _ problem: Problem?
    ) -> JSONValue {
        let other = problem?.members.first { sameBytes($0.name, "conflicting_id") }?.value
        let detail = problem.map { $0.errors.first?.detail ?? $0.detail }
        return .object([
            .init("index", .int(index)), .init("email", .string(email)),
            .init("result", .string(result)), .init("invite", invite),
            .init("code", .text(problem?.code.rawValue)), .init("detail", .text(detail)),
            .init("conflicting_id", other ?? .null),
        ])
    }
}

/// The inviter and the tenant of invites, in a request or in a job that creates them later.
struct Inviting {
    var principal: Principal
    var tenant: UUID
    var application: Application
    var now: Timestamp
    /// The addresses that `return_to` may contain.
    var returns: [String]
}

extension Call {
    /// The context for creating the invites of this request.
    func inviting(_ inputs: [Input]) async throws -> Inviting {
        let tenant = try tenant.id
        return Inviting(
            principal: principal.subject, tenant: tenant, application: application, now: now,
            returns: try await ReturnAddress.allowed(inputs, of: tenant, application))
    }
}
