import Outbound
import TestSupport
import Testing
import Text

@Suite(.cleansUp) struct TXTResolverTests {
    private func resolver(_ server: NameServer) throws -> TXTResolver {
        TXTResolver(
            server: .init(address: try #require(IPAddress("127.0.0.1")), port: server.port))
    }

    private static func asked(
        _ name: String, of resolver: TXTResolver, for owner: UUID?
    ) async -> Result<[String], TXTResolver.Failure> {
        do throws(TXTResolver.Failure) {
            return .success(try await resolver.records(of: name, for: owner))
        } catch { return .failure(error) }
    }

    @Test func `records are read whole, those of several strings as one`() async throws {
        let long = String(repeating: "x", count: 600)
        let server = NameServer(["a.example": .records(["one", long, "", "üñ"])])
        let found = try await resolver(server).records(of: "a.example", for: nil)
        #expect(found == ["one", long, "", "üñ"])
    }

    @Test func `a name without records and an unknown name have no records`() async throws {
        let server = NameServer(["empty.example": .records([])])
        let resolver = try resolver(server)
        #expect(try await resolver.records(of: "empty.example", for: nil).isEmpty)
        #expect(try await resolver.records(of: "nowhere.example", for: nil).isEmpty)
    }

    @Test func `an answer that breaks its form is no answer`() async throws {
        let good = NameServer.record("one")
        let bad: [(UInt8, [UInt8])] = [
            (2, good), (1, Array(good.dropLast())), (1, Array(good.prefix(5))), (1, []),
            (1, Array(good.prefix(11)) + [4, 9] + Array("one".utf8)),
        ]
        for (count, bytes) in bad {
            let server = NameServer(["a.example": .raw(count: count, bytes)])
            await #expect(throws: TXTResolver.Failure.self, "\(bytes)") {
                try await resolver(server).records(of: "a.example", for: nil)
            }
        }
    }

    @Test func `a server's failure is not taken for the absence of records`() async throws {
        let server = NameServer(["a.example": .failure(2)])
        await #expect(throws: TXTResolver.Failure.unavailable) {
            try await resolver(server).records(of: "a.example", for: nil)
        }
    }

    @Test func `an owner asks two at once, four wait, and another owner is answered meanwhile`()
        async throws
    {
        let server = NameServer(["slow.example": .silence, "a.example": .records(["one"])])
        let resolver = try resolver(server)
        let (evil, other) = (UUID.random(), UUID.random())
        let most = TXTResolver.questionsOfOwner + TXTResolver.waitingLimit
        #expect(TXTResolver.questionsOfOwner == 2 && TXTResolver.waitingLimit == 4)
        try await withThrowingTaskGroup(of: Result<[String], TXTResolver.Failure>.self) { group in
            for _ in 0..<(most + 3) {
                group.addTask { await Self.asked("slow.example", of: resolver, for: evil) }
            }
            // The server is silent, so a look-up that fails at once has found no slot.
            for _ in 0..<3 {
                let refused = try await group.next()
                #expect(refused == .failure(.busy))
            }
            for owner in [other, nil] {
                let found = await Self.asked("a.example", of: resolver, for: owner)
                #expect(found == .success(["one"]))
            }
            server.set("slow.example", .records(["late"]))
            for _ in 0..<most {
                let found = try await group.next()
                #expect(found == .success(["late"]))
            }
        }
        #expect(try await resolver.records(of: "a.example", for: evil) == ["one"])
    }
}
