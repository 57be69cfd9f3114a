import Gatehouse
import HTTP
import JSON
import Storage
import TestSupport
import Testing
import Text

/// Who guesses is held back, on every replica and from every address; the owner is not.
@Suite(.cleansUp) struct GuessingTests {
    private static let count = 500
    private static let home = "192.0.2.1"
    /// From the fifth failure on: twice as long each time, and a quarter of an hour at most.
    private static let waits = [5, 10, 20, 40, 80, 160, 320, 640]

    private struct Fixture {
        let clock = TestClock()
        let base: ImmichFixture
        let replicas: [Composition?]

        init() async throws {
            let clock = clock
            clock.startMinute()
            base = try await ImmichFixture.make(clock: clock)
            replicas = [nil, try base.service.replica()]
        }

        /// The address of this number, of 500 networks.
        static func stranger(_ number: Int) -> String {
            "198.18.\(number % 250).\(number / 250 + 1)"
        }

        func signIn(
            _ password: String, from address: String, at replica: Int,
            device: [Field] = [Field("devicemodel", "curl")], email: String = "ann@acme.example"
        ) async throws -> TestAnswer {
            try await base.service.send(
                .post, "/t/acme/immich/api/auth/login",
                json: #"{"email":"\#(email)","password":"\#(password)"}"#, fields: device,
                from: address, to: replicas[replica % 2])
        }

        func pin(
            _ pin: String, _ token: String, from address: String, at replica: Int
        ) async throws -> TestAnswer {
            try await base.service.send(
                .post, "/t/acme/immich/api/auth/pin-code/verify",
                json: #"{"pinCode":"\#(pin)"}"#,
                fields: [Field("x-immich-user-token", token)], from: address,
                to: replicas[replica % 2])
        }

        /// Guesses 500 times, each as soon as allowed, and gives the waits of the responses.
        func guess(
            wrong: Int, _ ask: (_ number: Int) async throws -> TestAnswer,
            meanwhile: (_ number: Int) async throws -> Void
        ) async throws -> [Int] {
            var waits: [Int] = []
            for number in 0..<GuessingTests.count {
                var answer = try await ask(number)
                if answer.status == 429 {
                    let wait = Int(answer.first("retry-after") ?? "") ?? 0
                    waits.append(wait)
                    // The other replica, and another address, get the same.
                    #expect(try await ask(number + 251).status == 429)
                    try await meanwhile(number)
                    clock.advance(seconds: Int64(wait))
                    answer = try await ask(number)
                }
                #expect(answer.status == wrong, "\(number) \(answer.text)")
            }
            return waits
        }
    }

    private func expectBackOff(_ waits: [Int], sourceLocation: SourceLocation = #_sourceLocation) {
        // Four are free, and the fifth is the first to cost a wait.
        #expect(waits.count == Self.count - 5, sourceLocation: sourceLocation)
        #expect(Array(waits.prefix(8)) == Self.waits, sourceLocation: sourceLocation)
        #expect(waits.dropFirst(8).allSatisfy { $0 == 900 }, sourceLocation: sourceLocation)
    }

    @Test func `500 wrong passwords from many addresses are held back, and the owner gets in`()
        async throws
    {
        let fixture = try await Fixture()
        let own = ImmichFixture.device
        func owner(_ number: Int) async throws -> Int {
            try await fixture.signIn(
                ImmichFixture.password, from: Self.home, at: number, device: own
            ).status
        }
        #expect(try await owner(0) == 201)
        let waits = try await fixture.guess(wrong: 401) { number in
            try await fixture.signIn("guess \(number)", from: Fixture.stranger(number), at: number)
        } meanwhile: { number in
            #expect(try await owner(number) == 201)
            // A stranger who has to wait does not learn that a password is right.
            let lucky = try await fixture.signIn(
                ImmichFixture.password, from: Fixture.stranger(number + 7), at: number)
            #expect(lucky.status == 429)
        }
        expectBackOff(waits)
    }

    @Test func `an unknown account is held back and answered like a known one`() async throws {
        let fixture = try await Fixture()
        func answers(_ email: String) async throws -> [String] {
            var answers: [String] = []
            for number in 0..<8 {
                let answer = try await fixture.signIn(
                    "guess", from: Fixture.stranger(number), at: number, email: email)
                let id = answer.first("x-immich-cid") ?? ""
                answers.append("\(answer.status) \(answer.text.replacing(id, with: ""))")
            }
            return answers
        }
        let unknown = try await answers("nobody@acme.example")
        let known = try await answers("ann@acme.example")
        #expect(known == unknown)
        #expect(unknown.filter { $0.hasPrefix("429 ") }.count == 3)
    }

    @Test func `500 wrong PINs from many addresses are held back, and the owner's is taken`()
        async throws
    {
        let fixture = try await Fixture()
        let signedIn = try await fixture.signIn(
            ImmichFixture.password, from: Self.home, at: 0, device: ImmichFixture.device)
        let token = signedIn.json["accessToken"]?.string ?? ""
        let set = try await fixture.base.send(
            .post, "/api/auth/pin-code", #"{"pinCode":"123456"}"#, token: token)
        #expect(set.status == 204, "\(set.text)")
        func owner(_ number: Int) async throws -> Int {
            try await fixture.pin("123456", token, from: Self.home, at: number).status
        }
        #expect(try await owner(0) == 204)
        // The token itself is stolen: it is used from everywhere.
        let waits = try await fixture.guess(wrong: 400) { number in
            try await fixture.pin(
                "65\(1000 + number)", token, from: Fixture.stranger(number), at: number)
        } meanwhile: { number in
            let status = try await owner(number)
            #expect(status == 204)
        }
        expectBackOff(waits)
    }

    @Test func `many strangers' tries slow each other down, and shut out no right password`()
        async throws
    {
        let fixture = try await Fixture()
        func owner() async throws -> Int {
            try await fixture.signIn(
                ImmichFixture.password, from: Self.home, at: 0, device: ImmichFixture.device
            ).status
        }
        #expect(try await owner() == 201)
        var statuses: [Int: Int] = [:]
        for number in 0..<650 {
            let status = try await fixture.signIn(
                "guess", from: Fixture.stranger(number), at: number,
                email: "u\(number)@acme.example"
            ).status
            statuses[status, default: 0] += 1
        }
        #expect(statuses == [401: 650])
        #expect(try await owner() == 201)
        // The right password from a device and an address that were never seen.
        let fresh = try await fixture.signIn(ImmichFixture.password, from: "198.18.0.9", at: 0)
        #expect(fresh.status == 201)
    }
}
