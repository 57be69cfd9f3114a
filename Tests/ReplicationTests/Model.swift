import Replication
import Text

/// One revoker, two replicas and their database, small enough to walk through every order in which
/// things can happen. `Freshness` and `Awaited` are the product's own; what the model adds is the
/// world around them: a stream from the database to each replica, time, losses.
struct Model {
    /// A lease is two ticks long, so that trust ends within its second.
    static let tick: Int64 = 10
    static let lease: Int64 = 20
    static let lastTick = 3
    let ticks: Int

    /// What the server sends to one replica, in order.
    enum Message: Hashable {
        case notice
        case renewed(sentAt: Int64)
    }

    enum Fill: Hashable {
        case none
        case asked
        /// What the database said, on its way to the replica.
        case answered(isGood: Bool)
    }

    struct Replica {
        let id: UUID
        var freshness = Freshness(lease: Model.lease, cells: 1)
        /// The server's side of the connection; nil: not connected.
        var stream: [Message]? = []
        /// The replica's side knows of a connection.
        var believesConnected = true
        var renewalSent: Int64?
        var leaseUntil: Int64 = 0
        var fill = Fill.none
        var asked: Freshness.Token?
        var memory: (isGood: Bool, token: Freshness.Token)?
        var obeyedInFlight = false
        var fillsLeft: Int
        var renewalsLeft: Int
        var lossesLeft: Int
    }

    enum Revocation: Hashable {
        case none, committed, told, waiting, returned
    }

    /// Rule 5: an answer carries the token of before its question.
    let takesTokenBefore: Bool
    /// Renewals travel on the connection that listens.
    let renewsWhereItListens: Bool

    var now: Int64 = 0
    var isGood = true
    var revocation = Revocation.none
    var awaited = Awaited()
    var ends: [UUID: Int64] = [:]
    var replicas: [Replica]

    static let key = Tag(UUID(high: 7, low: 7))
    static let ids = [UUID(high: 1, low: 1), UUID(high: 2, low: 2)]

    init(
        replicas count: Int, fills: Int, renewals: Int = 2, losses: Int,
        ticks: Int = Model.lastTick,
        takesTokenBefore: Bool = true,
        renewsWhereItListens: Bool = true
    ) {
        self.ticks = ticks
        self.takesTokenBefore = takesTokenBefore
        self.renewsWhereItListens = renewsWhereItListens
        replicas = Self.ids.prefix(count).map {
            Replica(id: $0, fillsLeft: fills, renewalsLeft: renewals, lossesLeft: losses)
        }
    }

    /// The call has returned, and a replica still says yes from memory.
    var isBroken: Bool {
        revocation == .returned
            && replicas.contains { replica in
                guard let memory = replica.memory, memory.isGood else { return false }
                return replica.freshness.isCurrent(memory.token, Tags(Self.key))
                    && replica.freshness.isTrusted(at: now)
            }
    }

    /// A yes from memory was given at all: otherwise the model would show nothing.
    var answersFromMemory: Bool {
        replicas.contains { replica in
            guard let memory = replica.memory, memory.isGood else { return false }
            return replica.freshness.isCurrent(memory.token, Tags(Self.key))
                && replica.freshness.isTrusted(at: now)
        }
    }

    /// A step's name and the state after it.
    typealias Step = (name: String, next: Model)

    func steps() -> [Step] {
        var steps: [Step] = []
        if now < Int64(ticks) * Self.tick {
            steps.append(step("time passes") { $0.now += Self.tick })
        }
        steps += revokerSteps()
        for index in replicas.indices {
            steps += replicaSteps(index) + connectionSteps(index) + fillSteps(index)
        }
        return steps
    }

    func step(_ name: String, _ change: (inout Model) -> Void) -> Step {
        var next = self
        for index in next.replicas.indices {
            next.replicas[index].freshness = Freshness(
                copying: replicas[index].freshness, tags: [Self.key])
        }
        change(&next)
        return (name, next)
    }

    // MARK: the revoker

    private func revokerSteps() -> [Step] {
        switch revocation {
        case .none:
            return [
                step("the revocation is committed") {
                    $0.isGood = false
                    $0.revocation = .committed
                }
            ]
        case .committed:
            return [
                step("the server sends the notices") { model in
                    model.revocation = .told
                    for index in model.replicas.indices {
                        model.replicas[index].stream?.append(.notice)
                    }
                }
            ]
        case .told:
            return [
                step("the revoker reads who lives") { model in
                    model.revocation = .waiting
                    let living = model.replicas.filter { $0.leaseUntil > model.now }
                    model.awaited.wait(for: living.map(\.id))
                    for replica in living { model.ends[replica.id] = replica.leaseUntil }
                    model.returnIfOver()
                }
            ]
        case .waiting:
            return replicas.filter { (ends[$0.id] ?? .max) <= now }.map { replica in
                step("the lease that was read ends") { model in
                    model.awaited.obeys(replica.id)
                    model.ends[replica.id] = nil
                    model.returnIfOver()
                }
            }
        case .returned: return []
        }
    }

    mutating func returnIfOver() {
        if revocation == .waiting, awaited.isOver { revocation = .returned }
    }

    // MARK: a replica

    private func replicaSteps(_ index: Int) -> [Step] {
        let replica = replicas[index]
        var steps: [Step] = []
        if replica.believesConnected, replica.renewalSent == nil, replica.renewalsLeft > 0,
            now < Int64(ticks - 1) * Self.tick
        {
            steps.append(
                step("\(index) sends a renewal") {
                    $0.replicas[index].renewalsLeft -= 1
                    $0.replicas[index].renewalSent = $0.now
                })
        }
        if let sent = replica.renewalSent, sent >= 0, replica.stream != nil || !renewsWhereItListens
        {
            steps.append(
                step("the server renews \(index)") { model in
                    model.replicas[index].leaseUntil = model.now + Self.lease
                    model.replicas[index].renewalSent = -1
                    if renewsWhereItListens {
                        model.replicas[index].stream?.append(.renewed(sentAt: sent))
                    } else {
                        model.replicas[index].freshness.renewed(sentAt: sent)
                        model.replicas[index].renewalSent = nil
                    }
                })
        }
        if replica.believesConnected, let first = replica.stream?.first {
            steps.append(
                step("\(index) takes \(first)") { model in
                    model.replicas[index].stream?.removeFirst()
                    switch first {
                    case .notice:
                        model.replicas[index].freshness.forget([Self.key])
                        model.replicas[index].obeyedInFlight = true
                    case .renewed(let sentAt):
                        model.replicas[index].renewalSent = nil
                        model.replicas[index].freshness.renewed(sentAt: sentAt)
                    }
                })
        }
        if replica.obeyedInFlight, revocation == .told || revocation == .waiting {
            steps.append(
                step("the revoker hears \(index)") { model in
                    model.replicas[index].obeyedInFlight = false
                    model.awaited.obeys(model.replicas[index].id)
                    model.returnIfOver()
                })
        }
        return steps
    }

    private func connectionSteps(_ index: Int) -> [Step] {
        let replica = replicas[index]
        var steps: [Step] = []
        if replica.stream != nil, replica.believesConnected, replica.lossesLeft > 0 {
            steps.append(
                step("the connection of \(index) is cut") { model in
                    model.replicas[index].stream = nil
                    model.replicas[index].lossesLeft -= 1
                })
        }
        if replica.stream == nil, replica.believesConnected {
            steps.append(
                step("\(index) learns of the cut") { model in
                    model.replicas[index].believesConnected = false
                    model.replicas[index].renewalSent = nil
                    model.replicas[index].freshness.lost()
                })
        }
        if !replica.believesConnected {
            steps.append(
                step("\(index) listens again, forgets all, obeys what it reads") { model in
                    model.replicas[index].stream = []
                    model.replicas[index].believesConnected = true
                    model.replicas[index].freshness.forgetAll()
                    if model.revocation != .none { model.replicas[index].obeyedInFlight = true }
                })
        }
        return steps
    }

    private func fillSteps(_ index: Int) -> [Step] {
        let replica = replicas[index]
        switch replica.fill {
        case .none:
            guard replica.fillsLeft > 0 else { return [] }
            return [
                step("\(index) asks the database") { model in
                    model.replicas[index].fillsLeft -= 1
                    model.replicas[index].asked = replica.freshness.token
                    model.replicas[index].fill = .asked
                }
            ]
        case .asked:
            return [
                step("the database answers \(index)") { model in
                    model.replicas[index].fill = .answered(isGood: model.isGood)
                }
            ]
        case .answered(let isGood):
            return [
                step("\(index) remembers the answer") { model in
                    let before = replica.asked ?? replica.freshness.token
                    let token = takesTokenBefore ? before : replica.freshness.token
                    model.replicas[index].memory = (isGood, token)
                    model.replicas[index].fill = .none
                    model.replicas[index].asked = nil
                }
            ]
        }
    }
}

/// What of a state decides on everything that can follow: numbers of tokens only matter by whether
/// they still hold.
struct Fingerprint: Hashable {
    struct Replica: Hashable {
        var stream: [Model.Message]?
        var believesConnected: Bool
        var renewalSent: Int64?
        var leaseUntil: Int64
        var fill: Model.Fill
        var askedHolds: Bool
        var remembersGood: Bool
        var trusted: [Bool]
        var obeyedInFlight: Bool
        var fillsLeft: Int
        var renewalsLeft: Int
        var lossesLeft: Int
    }

    var now: Int64
    var isGood: Bool
    var revocation: Model.Revocation
    var awaited: Awaited
    var ends: [UUID: Int64]
    var replicas: [Replica]

    init(_ model: Model) {
        now = model.now
        isGood = model.isGood
        revocation = model.revocation
        awaited = model.awaited
        ends = model.ends
        let tags = Tags(Model.key)
        replicas = model.replicas.map { replica in
            let holds = { (token: Freshness.Token) in replica.freshness.isCurrent(token, tags) }
            return Replica(
                stream: replica.stream, believesConnected: replica.believesConnected,
                renewalSent: replica.renewalSent, leaseUntil: replica.leaseUntil,
                fill: replica.fill, askedHolds: replica.asked.map(holds) ?? false,
                remembersGood: replica.memory.map { $0.isGood && holds($0.token) } ?? false,
                trusted: (0...Model.lastTick).map {
                    replica.freshness.isTrusted(at: Int64($0) * Model.tick)
                },
                obeyedInFlight: replica.obeyedInFlight, fillsLeft: replica.fillsLeft,
                renewalsLeft: replica.renewalsLeft,
                lossesLeft: replica.lossesLeft)
        }
    }
}
