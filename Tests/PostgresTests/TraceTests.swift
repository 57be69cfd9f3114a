import Postgres
import Runtime
import TestSupport
import Testing

@Suite(.cleansUp) struct TraceTests {
    @Test func `statements of a traced task have spans, with their texts and no values`()
        async throws
    {
        let (postgres, _) = try await makeDatabase()
        _ = try await postgres.query("CREATE TABLE notes (a text)")
        let queue = SpanQueue(dropped: Counter())
        let trace = Trace(into: queue)
        try await Trace.$current.withValue(trace) {
            _ = try await postgres.query("INSERT INTO notes VALUES (\("a secret"))")
            _ = try await postgres.read("SELECT count(*) FROM notes WHERE a = \("a secret")")
            try await postgres.transaction { transaction in
                transaction.queryLater("UPDATE notes SET a = \("another secret")")
                _ = try await transaction.query("DELETE FROM notes")
            }
            _ = try await postgres.read(
                "SELECT extract(epoch FROM now()) IS DISTINCT FROM 1 FROM notes")
            _ = try? await postgres.query("SELECT 1 / \(0)")
        }
        _ = try await postgres.query("DELETE FROM notes")
        let spans = queue.take(100)
        #expect(
            spans.map(\.name) == [
                "INSERT notes", "SELECT notes", "UPDATE notes", "DELETE notes", "COMMIT",
                "SELECT notes", "SELECT",
            ])
        #expect(spans.allSatisfy { $0.trace == trace.id && $0.start <= $0.end })
        #expect(!"\(spans)".contains("secret"))
        let failed = spans.filter(\.isFailed)
        #expect(failed.map(\.name) == ["SELECT"])
        let codes = failed.flatMap(\.attributes).filter { "\($0.name)" == "error.type" }
        guard case .text("22012") = codes.first?.value else {
            Issue.record("the failure's code is \(codes)")
            return
        }
    }

    @Test func `a full queue drops further spans and counts them`() {
        let dropped = Counter()
        let queue = SpanQueue(dropped: dropped)
        for _ in 0..<SpanQueue.limit + 5 { Trace(into: queue).end("GET", isFailed: false, []) }
        #expect(dropped.current == 5)
        let taken = queue.take(10)
        for _ in 0..<4 { Trace(into: queue).end("POST", isFailed: false, []) }
        queue.putBack(taken)
        #expect(dropped.current == 9)
        let all = queue.take(SpanQueue.limit + 1)
        #expect(all.count == SpanQueue.limit && all.suffix(4).allSatisfy { $0.name == "POST" })
    }

    @Test func `a request has as many parts as are permitted, and itself`() {
        let dropped = Counter()
        let queue = SpanQueue(dropped: dropped)
        let trace = Trace(into: queue)
        for _ in 0..<Trace.partLimit + 3 {
            trace.add("SELECT", since: Span.now, isFailed: false, [])
        }
        trace.end("GET", isFailed: false, [])
        #expect(dropped.current == 3 && queue.take(1000).count == Trace.partLimit + 1)
    }
}
