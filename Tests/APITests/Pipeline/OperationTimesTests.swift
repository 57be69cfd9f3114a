import API
import Gatehouse
import Testing

/// How long each operation may take.
struct OperationTimesTests {
    /// Acts on many rows in one transaction, or looks at many for a dry run.
    private static let ofMany: Set = [
        "createInvite", "actOnUsers", "actOnInvites", "actOnApiKeys", "actOnPeople",
        "putPolicy",
    ]

    @Test
    func `each operation has five seconds, a hook half of them, one on many rows thirty`() {
        for endpoint in Routes.all {
            let time: Duration =
                Self.ofMany.contains(endpoint.id)
                ? .seconds(30) : endpoint.hook ? .milliseconds(2500) : .seconds(5)
            #expect(endpoint.time == time, "\(endpoint.id)")
        }
    }
}
