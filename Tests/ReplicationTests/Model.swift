import Postgres
import Text

/// One revoker or two, replicas and their database, small enough to walk through every order in which
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
        /// Of the revoker with this place.
        case notice(Int)
        case renewed(sentAt: Int64)
        /// Sent after that renewal, by another connection.
        case echo(sentAt: Int64)
    }

    enum Fill: Hashable {
        case none
        case asked
        /// What the database said, on its way to the replica: how many changes it is made of.
        case answered(changes: Int)
    }

    struct Replica {
        let id: UUID
        var freshness = Freshness(lease: Model.lease, cells: 1)
        /// The server's side of the connection; nil: not connected.
        var stream: [Message]? = []
        /// The replica's side knows of a connection.
        var believesConnected = true
        var renewalSent: Int64?
        /// The renewal whose echo is still to be sent.
        var awaitsEcho: Int64?
        /// Something on the way drops what is no answer.
        var isDeaf = false
        var leaseUntil: Int64 = 0
        var fill = Fill.none
        var asked: Freshness.Token?
        var memory: (changes: Int, token: Freshness.Token)?
        /// Which revokers it has answered, or is about to.
        var acknowledgedInFlight: Set<Int> = []
        var fillsLeft: Int
        var renewalsLeft: Int
        var lossesLeft: Int
        var mayTurnDeaf = false

        /// Notices and echoes.
        mutating func pass(_ message: Message) { if !isDeaf { stream?.append(message) } }
    }

    /// One change of the one key, and the call that makes it.
    struct Revoker: Hashable {
        enum Place: Hashable {
            case none, committed, told, waiting, returned
        }

        var place = Place.none
        /// How many changes there were with its own.
        var changes = 0
        var pending = PendingAcknowledgements()
        /// Until when each replica that it waits for has its lease, as it read.
        var ends: [UUID: Int64] = [:]

        mutating func returnIfOver() {
            if place == .waiting, pending.isOver { place = .returned }
        }
    }

    /// Rule 5: an answer carries the token of before its question.
    let takesTokenBefore: Bool
    /// Renewals travel on the connection that listens.
    let renewsWhereItListens: Bool
    /// What a replica says that it obeys counts for that change alone.
    let namesWhatItObeys: Bool
    /// A lease counts from before its renewal was sent.
    let countsFromTheSending: Bool
    /// A call waits for the lease of a replica that says nothing.
    let waitsForTheSilent: Bool
    /// A renewal counts once its echo is heard.
    let hearsItself: Bool

    var now: Int64 = 0
    /// What the database holds: how many changes are committed.
    var changes = 0
    var revokers: [Revoker]
    var replicas: [Replica]

    static let key = CacheTag(UUID(high: 7, low: 7))
    static let ids = [UUID(high: 1, low: 1), UUID(high: 2, low: 2)]

    init(
        revokers: Int = 1, replicas count: Int, fills: Int, renewals: Int = 2, losses: Int,
        ticks: Int = Model.lastTick,
        takesTokenBefore: Bool = true,
        renewsWhereItListens: Bool = true,
        namesWhatItObeys: Bool = true,
        countsFromTheSending: Bool = true,
        waitsForTheSilent: Bool = true,
        mayTurnDeaf: Bool = false,
        hearsItself: Bool = true
    ) {
        self.hearsItself = hearsItself
        self.countsFromTheSending = countsFromTheSending
        self.waitsForTheSilent = waitsForTheSilent
        self.revokers = (0..<revokers).map { _ in Revoker() }
        self.namesWhatItObeys = namesWhatItObeys
        self.ticks = ticks
        self.takesTokenBefore = takesTokenBefore
        self.renewsWhereItListens = renewsWhereItListens
        replicas = Self.ids.prefix(count).map {
            Replica(
                id: $0, fillsLeft: fills, renewalsLeft: renewals, lossesLeft: losses,
                mayTurnDeaf: mayTurnDeaf)
        }
    }

    /// A call has returned, and a replica still answers from memory what was before it.
    var isBroken: Bool {
        let over = revokers.filter { $0.place == .returned }.map(\.changes).max() ?? 0
        return replicas.contains { replica in
            guard let memory = replica.memory, memory.changes < over else { return false }
            return answers(replica)
        }
    }

    /// A yes from memory was given at all: otherwise the model would show nothing.
    var answersFromMemory: Bool { replicas.contains(where: answers) }

    private func answers(_ replica: Replica) -> Bool {
        guard let memory = replica.memory, memory.changes < revokers.count else { return false }
        return replica.freshness.isCurrent(memory.token, CacheTags(Self.key))
            && replica.freshness.isTrusted(at: now)
    }

    /// A step's name and the state after it.
    typealias Step = (name: String, next: Model)

    func steps() -> [Step] {
        var steps: [Step] = []
        if now < Int64(ticks) * Self.tick {
            steps.append(step("time passes") { $0.now += Self.tick })
        }
        for index in revokers.indices { steps += revokerSteps(index) }
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

    // MARK: a revoker

    private func revokerSteps(_ index: Int) -> [Step] {
        let revoker = revokers[index]
        switch revoker.place {
        case .none:
            // They are alike, so one order of commits stands for the other.
            guard index == 0 || revokers[index - 1].place != .none else { return [] }
            return [
                step("revocation \(index) is committed") {
                    $0.changes += 1
                    $0.revokers[index].changes = $0.changes
                    $0.revokers[index].place = .committed
                }
            ]
        case .committed:
            return [
                step("the server sends the notices of \(index)") { model in
                    model.revokers[index].place = .told
                    for replica in model.replicas.indices {
                        model.replicas[replica].pass(.notice(index))
                    }
                }
            ]
        case .told:
            return [
                step("revoker \(index) reads who lives") { model in
                    model.revokers[index].place = .waiting
                    let living = model.replicas.filter {
                        waitsForTheSilent && $0.leaseUntil > model.now
                    }
                    model.revokers[index].pending.wait(for: living.map(\.id))
                    for replica in living {
                        model.revokers[index].ends[replica.id] = replica.leaseUntil
                    }
                    model.revokers[index].returnIfOver()
                }
            ]
        case .waiting:
            return replicas.filter { (revoker.ends[$0.id] ?? .max) <= now }.map { replica in
                step("the lease that \(index) read ends") { model in
                    model.revokers[index].pending.acknowledged(replica.id)
                    model.revokers[index].ends[replica.id] = nil
                    model.revokers[index].returnIfOver()
                }
            }
        case .returned: return []
        }
    }

    /// The revokers that may hear of an answer to the notice of `index`.
    private func hearing(_ index: Int) -> [Int] {
        let all = namesWhatItObeys ? [index] : Array(revokers.indices)
        return all.filter { [.told, .waiting].contains(revokers[$0].place) }
    }

    // MARK: a replica

    private func replicaSteps(_ index: Int) -> [Step] {
        let replica = replicas[index]
        var steps: [Step] = []
        if replica.believesConnected, replica.renewalSent == nil, replica.awaitsEcho == nil,
            replica.renewalsLeft > 0,
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
                    case .notice(let revoker):
                        model.replicas[index].freshness.invalidate([Self.key])
                        model.replicas[index].acknowledgedInFlight.insert(revoker)
                    case .renewed(let sentAt) where hearsItself:
                        model.replicas[index].renewalSent = nil
                        model.replicas[index].awaitsEcho = sentAt
                    case .renewed(let sentAt), .echo(let sentAt):
                        model.replicas[index].renewalSent = nil
                        model.replicas[index].freshness.renewed(
                            sentAt: countsFromTheSending ? sentAt : model.now)
                    }
                })
        }
        if let sent = replica.awaitsEcho, replica.stream != nil {
            steps.append(
                step("the server sends the echo of \(index)") { model in
                    model.replicas[index].awaitsEcho = nil
                    model.replicas[index].pass(.echo(sentAt: sent))
                })
        }
        for revoker in replica.acknowledgedInFlight where !hearing(revoker).isEmpty {
            steps.append(
                step("revoker \(revoker) hears \(index)") { model in
                    model.replicas[index].acknowledgedInFlight.remove(revoker)
                    for hearing in hearing(revoker) {
                        model.revokers[hearing].pending.acknowledged(model.replicas[index].id)
                        model.revokers[hearing].returnIfOver()
                    }
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
        if replica.stream != nil, replica.mayTurnDeaf {
            steps.append(
                step("\(index) turns deaf") { model in
                    model.replicas[index].isDeaf = true
                    model.replicas[index].mayTurnDeaf = false
                    model.replicas[index].stream?.removeAll { message in
                        if case .renewed = message { false } else { true }
                    }
                })
        }
        if replica.stream == nil, replica.believesConnected {
            steps.append(
                step("\(index) learns of the cut") { model in
                    model.replicas[index].believesConnected = false
                    model.replicas[index].renewalSent = nil
                    model.replicas[index].awaitsEcho = nil
                    model.replicas[index].freshness.lost()
                })
        }
        if !replica.believesConnected {
            steps.append(
                step("\(index) listens again, forgets all, obeys what it reads") { model in
                    model.replicas[index].stream = []
                    model.replicas[index].isDeaf = false
                    model.replicas[index].believesConnected = true
                    model.replicas[index].freshness.invalidateAll()
                    for revoker in model.revokers.indices
                    where model.revokers[revoker].place != .none {
                        model.replicas[index].acknowledgedInFlight.insert(revoker)
                    }
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
                    model.replicas[index].fill = .answered(changes: model.changes)
                }
            ]
        case .answered(let changes):
            return [
                step("\(index) remembers the answer") { model in
                    let before = replica.asked ?? replica.freshness.token
                    let token = takesTokenBefore ? before : replica.freshness.token
                    model.replicas[index].memory = (changes, token)
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
        var awaitsEcho: Int64?
        var isDeaf: Bool
        var mayTurnDeaf: Bool
        var leaseUntil: Int64
        var fill: Model.Fill
        var askedHolds: Bool
        /// What is remembered and not yet forgotten.
        var remembers: Int?
        var trusted: [Bool]
        var acknowledgedInFlight: Set<Int>
        var fillsLeft: Int
        var renewalsLeft: Int
        var lossesLeft: Int
    }

    var now: Int64
    var changes: Int
    var revokers: [Model.Revoker]
    var replicas: [Replica]

    init(_ model: Model) {
        now = model.now
        changes = model.changes
        revokers = model.revokers
        let tags = CacheTags(Model.key)
        replicas = model.replicas.map { replica in
            let holds = { (token: Freshness.Token) in replica.freshness.isCurrent(token, tags) }
            return Replica(
                stream: replica.stream, believesConnected: replica.believesConnected,
                renewalSent: replica.renewalSent, awaitsEcho: replica.awaitsEcho,
                isDeaf: replica.isDeaf, mayTurnDeaf: replica.mayTurnDeaf,
                leaseUntil: replica.leaseUntil,
                fill: replica.fill, askedHolds: replica.asked.map(holds) ?? false,
                remembers: replica.memory.flatMap { holds($0.token) ? $0.changes : nil },
                trusted: (0...Model.lastTick).map {
                    replica.freshness.isTrusted(at: Int64($0) * Model.tick)
                },
                acknowledgedInFlight: replica.acknowledgedInFlight, fillsLeft: replica.fillsLeft,
                renewalsLeft: replica.renewalsLeft,
                lossesLeft: replica.lossesLeft)
        }
    }
}
