import HTTP
import JSON
import Synchronization
import Text

/// Exports a list as a file. It fetches each page only when the previous one has been sent, so that
/// a slow client occupies no database connection.
final class ExportRun: Sendable {
    private struct State {
        var exchange: Exchange
        var first: [UInt8]?
    }

    private struct TooLong: Error {}
    private struct TooSlow: Error {}

    private let dispatcher: Dispatcher
    private let endpoint: Endpoint
    private let export: ListExport
    private let slot: LongResponses.Place
    private let state: Mutex<State>

    /// Begins an export and fetches the first page, so that a refusal is still a normal response.
    static func begin(
        _ export: ListExport, _ endpoint: Endpoint, _ exchange: Exchange, by dispatcher: Dispatcher
    ) async throws -> ExportRun {
        let slot = try dispatcher.exports.take(for: exchange.call.principal)
        let run = ExportRun(export, endpoint, exchange, dispatcher, slot)
        let first = try await run.page(exchange.call)
        run.state.withLock { $0.first = first }
        return run
    }

    private init(
        _ export: ListExport, _ endpoint: Endpoint, _ exchange: Exchange, _ dispatcher: Dispatcher,
        _ slot: LongResponses.Place
    ) {
        self.dispatcher = dispatcher
        self.endpoint = endpoint
        self.export = export
        self.slot = slot
        state = Mutex(State(exchange: exchange, first: nil))
    }

    var response: Response {
        var response = Response(
            200, fields: [Field("content-type", export.format.contentType)],
            body: .stream { try await self.next() })
        response.set("content-disposition", "attachment; filename=\"\(fileName)\"")
        response.set("vary", "Accept")
        return response
    }

    /// The name of the file, such as `users-acme-2026-11-22.csv`. It contains only letters, digits,
    /// hyphens and the dot.
    private var fileName: String {
        let call = state.withLock { $0.exchange.call }
        let list = endpoint.path.split(separator: "/").last { $0.first != "{" } ?? "list"
        let day = String(call.now.description.prefix(10))
        let parts = [String(list), call.resolvedTenant?.slug, day].compactMap { $0 }
        return parts.joined(separator: "-") + "." + export.format.fileExtension
    }

    /// The next part of the file; `nil` after the last. An error closes the connection, so that the
    /// client can tell that the file is incomplete.
    private func next() async throws -> [UInt8]? {
        let first = state.withLock { state in
            defer { state.first = nil }
            return state.first
        }
        if let first { return first }
        if export.isWhole { return nil }
        do {
            return try await page(try await admitted())
        } catch {
            record(error)
            throw error
        }
    }

    private func page(_ call: Call) async throws -> [UInt8] {
        _ = try await endpoint.answer(call)
        guard let lines = export.take() else { throw Problem.internalError }
        if export.rows > dispatcher.exports.limits.rows { throw TooLong() }
        return lines
    }

    /// The call for the next page. Throws if its origin is not allowed any more, or if its
    /// credential has other rights than before: with fewer rights, the next pages would lack rows,
    /// and the file would look complete.
    private func admitted() async throws -> Call {
        var exchange = state.withLock { $0.exchange }
        let now = dispatcher.application.now
        let limit = dispatcher.exports.limits.seconds
        if now >= exchange.call.now.adding(seconds: limit) { throw TooSlow() }
        try await dispatcher.readmit(&exchange)
        state.withLock { [exchange] in $0.exchange = exchange }
        return exchange.call
    }

    /// Writes a second log line for this request, with the error. The first line was written when
    /// the response began.
    private func record(_ error: any Error) {
        var exchange = state.withLock { $0.exchange }
        let status = dispatcher.problem(for: error, &exchange).status
        exchange.fault = "the export was cut behind \(export.rows) rows: \(error)"
        dispatcher.application.requests.record(
            exchange.record(status, took: dispatcher.application.now, since: exchange.call.now))
    }
}

extension Dispatcher {
    /// Checks the origin, the credential and the rights of a request again while its response is
    /// being sent.
    func readmit(_ exchange: inout Exchange) async throws {
        _ = try await origin(&exchange)
        let principal = try await continuingCaller(of: exchange.call.request)
        guard principal.hasRights(of: exchange.call.principal) else {
            throw Problem.forbidden("Your rights have changed since this response began.")
        }
        _ = try await tenant(&exchange)
        _ = try permit(&exchange)
    }
}

extension CallerPrincipal {
    fileprivate func hasRights(of other: CallerPrincipal) -> Bool {
        var renamed = other
        renamed.name = name
        // Ignore the remainder of the rate limit: it is not a right, and the repeated check does
        // not compute it.
        renamed.rateLimit = rateLimit
        return self == renamed
    }
}

/// The state of a list that is exported as a file: the position reached, and the lines of the
/// current page. Every list can be exported, by the same code that creates its pages.
final class ListExport: Sendable {
    private struct Progress {
        var after: Cursor?
        var lines: [UInt8]?
        var rows = 0
        var hasBegun = false
        var isWhole = false
    }

    let format: ExportFormat
    private let columns: [CSVColumn]
    private let progress = Mutex(Progress())

    /// Creates the state before the first page; `nil` if the endpoint is not a list, or if the
    /// request is for a page as JSON.
    init?(_ endpoint: Endpoint, for request: Request) {
        guard let shape = endpoint.listedShape, let format = ExportFormat.asked(by: request) else {
            return nil
        }
        self.format = format
        columns = format == .csv ? CSVColumn.all(of: shape) : []
    }

    /// The errors for `limit` and `cursor` in the query of an export. Both are refused, since the
    /// file is the whole list.
    static func faults(_ query: Input) -> [FieldError] {
        ["limit", "cursor"].filter { query.has($0) }.map {
            FieldError(
                "?\($0)", .notAllowed,
                "is not possible with an export, which is the whole list")
        }
    }

    /// The cursor of the next page; `nil` before the first page and after the last.
    var after: Cursor? { progress.withLock { $0.after } }
    var rows: Int { progress.withLock { $0.rows } }
    var isWhole: Bool { progress.withLock { $0.isWhole } }

    /// Returns the lines of the current page and removes them; `nil` if the handler added no page.
    func take() -> [UInt8]? {
        progress.withLock { progress in
            defer { progress.lines = nil }
            return progress.lines
        }
    }

    /// Adds the items of a page. `next` is the cursor of the next page; `nil` if this is the last
    /// one.
    func give<Items: Collection>(
        _ items: Items, next: Cursor?, write: (Items.Element, inout JSONWriter) -> Void
    ) {
        var lines: [UInt8] = []
        if format == .csv, !progress.withLock({ $0.hasBegun }) { lines = CSV.header(columns) }
        for item in items {
            var json = JSONWriter()
            write(item, &json)
            switch format {
            case .lines:
                json.withBytes { lines += $0 }
                lines.append(UInt8(ascii: "\n"))
            case .csv:
                // If an item cannot be parsed, the page has no lines. The export then fails and
                // closes the connection.
                guard let value = try? JSONValue(parsing: json.bytes) else { return }
                lines += CSV.line(value, columns)
            }
        }
        progress.withLock { [lines] progress in
            progress.lines = lines
            progress.after = next
            progress.rows += items.count
            progress.hasBegun = true
            progress.isWhole = next == nil
        }
    }
}

extension Endpoint {
    /// The shape of the items if the endpoint is a list; otherwise `nil`.
    var listedShape: ObjectShape? {
        guard method == .get else { return nil }
        for answer in answers {
            if case .list(let shape, _) = answer.content { return shape }
        }
        return nil
    }
}

/// The format of an exported list, requested by `Accept`.
enum ExportFormat: Sendable, CaseIterable {
    /// JSON lines: each line is one item in the form in which the list returns it.
    case lines
    /// Comma-separated values (RFC 4180), with a header line.
    case csv

    var mediaType: String {
        switch self {
        case .lines: "application/x-ndjson"
        case .csv: "text/csv"
        }
    }

    var contentType: String {
        self == .csv ? mediaType + "; charset=utf-8; header=present" : mediaType
    }

    var fileExtension: String { self == .csv ? "csv" : "ndjson" }

    /// The format that `Accept` requests; `nil` for a page as JSON. Also `nil` for `*/*` and for
    /// unknown types.
    static func asked(by request: Request) -> ExportFormat? {
        let accepted = request.all("accept")
        guard !accepted.isEmpty else { return nil }
        let offers = ["application/json"] + allCases.map(\.mediaType)
        let choice = Accept.choice(among: offers, by: accepted) ?? 0
        return choice == 0 ? nil : allCases[choice - 1]
    }
}

/// The limits of exports or of other responses that take long.
package struct ExportLimits: Sendable {
    /// What the limits count, as a noun in the plural for error texts.
    var noun = "exports"
    /// The maximum number of rows in an export. A longer one is cut off with an error.
    package var rows = 10_000_000
    /// The maximum number of concurrent exports on this replica. Each export reads page after page
    /// from the database without a pause.
    var atOnce = 8
    /// The maximum number of concurrent exports of one credential. `ofOneTenant` is the maximum for
    /// all credentials of a tenant.
    var ofOneCaller = 2
    var ofOneTenant = 4
    /// The maximum duration of an export in seconds. A slow client would otherwise occupy a slot
    /// for too long.
    var seconds: Int64 = 3600

    package init() {}

    /// The limits of event streams. A stream reads from the database once a second and ends after
    /// ten minutes. Its client then connects again.
    static var streams: ExportLimits {
        var limits = ExportLimits()
        limits.noun = "streams"
        (limits.atOnce, limits.ofOneCaller, limits.ofOneTenant) = (64, 4, 16)
        limits.seconds = 600
        return limits
    }
}

/// Limits the number of long responses in progress, which are either exports or streams.
struct LongResponses: Sendable {
    /// The slots that a response occupies until it has been sent.
    typealias Place = [InFlight<UUID?>.Slot]

    let limits: ExportLimits
    private let callers: InFlight<UUID?>
    /// The responses in progress for each tenant, and in total. Each caller of the platform counts
    /// like a tenant of its own.
    private let tenants: InFlight<UUID?>

    init(_ limits: ExportLimits) {
        self.limits = limits
        callers = InFlight(perKey: limits.ofOneCaller)
        tenants = InFlight(perKey: limits.ofOneTenant, total: limits.atOnce)
    }

    /// Reserves slots for a response. Throws 429 if the caller or its tenant has reached its limit,
    /// and 503 if the replica has reached its own limit.
    func take(for principal: CallerPrincipal) throws(Problem) -> Place {
        guard let caller = try? callers.enter(principal.id) else {
            throw Self.enough("\(limits.ofOneCaller) of your \(limits.noun) are running")
        }
        do {
            return [caller, try tenants.enter(principal.tenant ?? principal.id)]
        } catch {
            switch error {
            case .ofKey:
                throw Self.enough(
                    "\(limits.ofOneTenant) \(limits.noun) of your tenant are running")
            case .ofAll:
                throw Problem(
                    .unavailable, "Too many \(limits.noun) are running; try again.",
                    fields: [Field("retry-after", "\(Self.retryAfter)")])
            }
        }
    }

    private static let retryAfter: Int64 = 5

    private static func enough(_ what: String) -> Problem {
        .rateLimited("\(what); wait for one to end.", retryAfter: retryAfter)
    }
}
