import API
import Testing

/// How long each operation may take.
struct OperationTimesTests {
    @Test
    func `each operation has five seconds, a hook half of them, a list of invites thirty`() {
        for endpoint in Routes.all {
            let time: Duration =
                endpoint.id == "createInvite"
                ? .seconds(30) : endpoint.hook ? .milliseconds(2500) : .seconds(5)
            #expect(endpoint.time == time, "\(endpoint.id)")
        }
    }
}
