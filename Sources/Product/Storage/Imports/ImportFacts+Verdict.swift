import Domain
import JSON
import Text

extension ImportFacts {
    /// What becomes of a row, before anything is written.
    func verdict(
        on row: StagedRow, by rules: ImportRules, _ schema: AttributeSchema
    ) -> Verdict {
        var user: ImportedUser
        switch row.content {
        case .success(let content): user = content
        case .failure(let fault): return .result(JobResult(row.row, fault))
        }
        let named = user.uuid.flatMap { byID[$0.description] }
        if user.isDeleted { return .result(Self.deleted(row.row, named)) }
        let known = named ?? known[user.email.key]
        let fileID = known == nil ? user.uuid.flatMap { free.contains($0) ? $0 : nil } : nil
        let isForeign = user.id != nil && named == nil && fileID == nil
        if isForeign { user.takeForeignID() }
        var candidate = ImportCandidate(row: row.row, user: user, known: known?.id)
        candidate.idIsForeign = isForeign
        let contested = contested(by: user, in: row.row, known)
        if let fault = fault(in: row.row, user, known, by: rules) {
            var result = JobResult(row.row, fault, about: known?.id)
            result.externalID = contested
            return .result(result)
        }
        if let known {
            guard rules.conflict == .update else {
                var result = JobResult(
                    row: row.row, rules.conflict == .skip ? .unchanged : .failed,
                    code: "email_taken", detail: "A user of this tenant has the address.",
                    targetType: "user", targetID: known.id)
                if named != nil { result.detail = "A user of this tenant has the id." }
                result.externalID = contested
                return .result(result)
            }
            return .update(candidate, known.id)
        }
        if let fault = Self.attributeFault(user, schema) {
            return .result(JobResult(row.row, fault))
        }
        candidate.known = nil
        candidate.fileID = fileID
        candidate.user = user.asNew
        return .create(candidate)
    }

    /// Of a row of a deleted user: nothing is made of it.
    private static func deleted(_ row: Int, _ named: Known?) -> JobResult {
        guard let named, named.status == .deleted else {
            return JobResult(
                row, ImportFault("user_deleted", "The row is of a user who was deleted."),
                about: named?.id)
        }
        return JobResult(
            row: row, .unchanged, detail: "The user is deleted here too.", targetType: "user",
            targetID: named.id)
    }

    private static func attributeFault(
        _ user: ImportedUser, _ schema: AttributeSchema
    ) -> ImportFault? {
        let faults =
            user.attributes.faults()
            + schema.faults(user.attributes, after: AttributePair(), isNew: true)
        guard let fault = faults.first else { return nil }
        let name = [fault.object, fault.name ?? ""].filter { !$0.isEmpty }.joined(separator: ".")
        return ImportFault("validation_failed", "\(name) \(fault.detail).")
    }

    private func fault(
        in row: Int, _ user: ImportedUser, _ known: Known?, by rules: ImportRules
    ) -> ImportFault? {
        if let other = rival(of: user, in: row) {
            return ImportFault(
                "conflict",
                "Row \(other) of this import has the same address, external id or sign-in.")
        }
        if let known {
            if known.status == .deleted {
                return ImportFault(
                    "user_deleted", "The user with this id was deleted; restore the user first.")
            }
            if let other = self.known[user.email.key], other.id != known.id {
                return ImportFault(
                    "conflict", "The id is one user's, and the address the user \(other.id)'s.")
            }
            // What is skipped or fails needs no more reasons.
            guard rules.conflict == .update else { return nil }
            guard rules.roles.contains(known.role) else { return Self.roleTooHigh }
        } else if deleted.contains(user.email.key) {
            return ImportFault(
                "user_deleted",
                "A user with this address was deleted; restore the user, or create one by hand.")
        } else if reserved.contains(user.email.key) {
            return ImportFault(
                "email_taken",
                "It was another user's address until lately, and is kept for 30 days.")
        }
        if !rules.roles.contains(user.role ?? .member) { return Self.roleTooHigh }
        return taken(from: user, but: known?.id)
    }

    /// The row that stands before this one: an earlier one, or any whose address is verified if this
    /// one's is not.
    private func rival(of user: ImportedUser, in row: Int) -> Int? {
        let earlier = user.keys.lazy.compactMap { first[$0] }.first { $0 < row }
        return earlier ?? user.verifiedKeys.lazy.compactMap { first[$0] }.first
    }

    /// What another user has.
    private func taken(from user: ImportedUser, but known: UUID?) -> ImportFault? {
        if let id = user.externalID, let other = holders[ImportedUser.key(externalID: id)],
            other != known
        {
            return ImportFault("conflict", "The user \(other) has the external id.")
        }
        for identity in user.identities {
            if let other = holders[identity.key], other != known {
                return ImportFault(
                    "identity_conflict", "The sign-in is linked to the user \(other) already.")
            }
            if barred.contains(identity.key) {
                return ImportFault(
                    "identity_link_required",
                    "The sign-in was unlinked, or its user removed for good; link it by hand.")
            }
        }
        return nil
    }

    /// The external id of a row whose address a user has, if another user or another row has it: the two
    /// may be one person.
    private func contested(by user: ImportedUser, in row: Int, _ known: Known?) -> String? {
        guard let known, let id = user.externalID else { return nil }
        let key = ImportedUser.key(externalID: id)
        let isHeld = holders[key].map { $0 != known.id } ?? false
        return isHeld || [key, ~key].contains { (first[$0] ?? row) != row } ? id : nil
    }

    private static let roleTooHigh = ImportFault(
        "forbidden", "The role is above what this credential may give.")
}

extension ImportedUser {
    var attributes: AttributePair {
        var pair = AttributePair()
        pair.public = Attributes.none.merging(.object(publicAttributes))
        pair.private = Attributes.none.merging(.object(privateAttributes))
        return pair
    }
}

extension JobResult {
    init(_ row: Int, _ fault: ImportFault, about user: UUID? = nil) {
        self.init(
            row: row, .failed, code: fault.code, detail: fault.detail,
            targetType: user == nil ? nil : "user", targetID: user)
    }
}
