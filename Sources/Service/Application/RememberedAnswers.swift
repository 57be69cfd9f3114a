import API
import HTTP
import Replication
import Serving
import Storage
import Text

/// Whole answers of the hottest requests (our own small pages, preflights that pass), given again
/// without any of the ordinary steps. What depends on rows is remembered under the lease, and that it
/// still holds is asked last, when the answer stands composed; so a process that was frozen before
/// that moment gives none. They are counted as all others are.
final class RememberedAnswers: Sendable {
    private struct Answer: Sendable {
        var status: Int
        /// The lines of its fields, without the request's id.
        var head: [UInt8]
        var body: [UInt8]
        var hasRequestID: Bool
        /// What it is counted under.
        var place: String
        /// Microseconds of the clock.
        var until: Int64 = .max
    }

    private static let largestBody = 32 << 10

    private let database: Database
    private let judge: OriginJudge
    private let metrics: ServiceMetrics
    /// Few pages in few forms: whoever asks for one in ever new forms must not fill the memory.
    private let pages: LeasedCache<AnswerQuestion, Answer>
    private let preflights: LeasedCache<AnswerQuestion, Answer>

    init(database: Database, judge: OriginJudge, metrics: ServiceMetrics) {
        self.metrics = metrics
        self.database = database
        self.judge = judge
        pages = LeasedCache(of: database.replica, capacity: 512)
        preflights = LeasedCache(of: database.replica, capacity: 20_000)
    }

    private func answers(_ kind: AnswerQuestion.Kind) -> LeasedCache<AnswerQuestion, Answer> {
        kind == .page ? pages : preflights
    }

    // MARK: giving

    /// True when the answer was written.
    func answer(_ request: FastRequest, _ writer: ResponseWriter) -> Bool {
        guard
            let question = AnswerQuestion(
                request.head, body: request.body, isTLS: request.isTLS)
        else { return false }
        guard let entry = answers(question.kind).found(question) else { return false }
        let now = database.clock()
        let length = writer.out.count
        Self.write(entry.value, to: request, writer)
        guard now.microseconds < entry.value.until,
            database.replica.holds(entry.token, entry.tags)
        else {
            writer.out.truncate(to: length)
            return false
        }
        metrics.record(place: entry.value.place, status: entry.value.status)
        return true
    }

    private static func write(
        _ answer: Answer, to request: FastRequest, _ writer: ResponseWriter
    ) {
        writer.begin(answer.status)
        writer.out.append(answer.head)
        if answer.hasRequestID { request.writeRequestID(to: writer) }
        answer.body.withUnsafeBytes { writer.finish($0) }
    }

    // MARK: remembering

    var token: Freshness.Token { database.replica.token }

    /// Answers the ordinary way, and remembers the answer where that may be done: a page only where
    /// it is for all. `token`: of before anything was read for it.
    func respond(
        to request: Request, since token: Freshness.Token,
        by ordinary: (Request) async -> (answer: Response, isForAll: Bool)
    ) async -> Response {
        let question = request.body.withUnsafeBytes {
            AnswerQuestion(request, body: $0, isTLS: request.isTLS)
        }
        let (response, isForAll) = await ordinary(request)
        if let question, question.kind == .preflight || isForAll {
            remember(response, to: request, question, token)
        }
        return response
    }

    private func remember(
        _ response: Response, to request: Request, _ question: AnswerQuestion,
        _ token: Freshness.Token
    ) {
        guard var answer = Self.rendered(response, place: Self.place(question, request)) else {
            return
        }
        switch question.kind {
        case .page:
            guard answer.status == 200 else { return }
            pages.keep(answer, for: question, token: token, tags: Memory.hostTags)
        case .preflight:
            guard answer.status == 204, let until = judge.stands(until: request) else { return }
            answer.until = until
            preflights.keep(answer, for: question, token: token, tags: Memory.originTags)
        }
    }

    private static func place(_ question: AnswerQuestion, _ request: Request) -> String {
        switch question.kind {
        case .page: request.path.utf8.elementsEqual("/livez".utf8) ? "/livez" : "/console"
        case .preflight: ServiceMetrics.preflight
        }
    }

    private static func rendered(_ response: Response, place: String) -> Answer? {
        var body: [UInt8] = []
        switch response.body {
        case .empty: break
        case .bytes(let bytes): body = bytes
        case .stream: return nil
        }
        guard body.count <= largestBody else { return nil }
        let out = OutputBuffer(capacity: 1024)
        let writer = ResponseWriter(out: out)
        for field in response.fields where field.name != "x-request-id" {
            guard field.name != "set-cookie", !ResponseWriter.isOurs(field.name) else {
                if field.name == "set-cookie" { return nil }
                continue
            }
            writer.field(field.name, field.value)
        }
        return Answer(
            status: response.status, head: Array(out.bytes), body: body,
            hasRequestID: response.first("x-request-id") != nil, place: place)
    }
}
