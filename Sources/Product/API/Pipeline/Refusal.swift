import Storage

/// What an error means for one row of many: storage's refusals, and those of invites and mails. Nil
/// if it is a fault.
func refusal(_ error: any Error) -> Problem? {
    if let problem = error as? Problem { return problem }
    switch error as? InviteRefusal {
    case .outsideDomains:
        return .invalid([
            FieldError("/email", .notAllowed, "is outside the tenant's allowed domains")
        ])
    case .blocked(let member):
        return .invalid([
            FieldError("/email", .notAllowed, "is blocked by the policy's \(member)")
        ])
    case .quota(let member, let limit, let seconds):
        return .rateLimited(
            "The policy's \(member), \(limit), is used up.", limit: limit, retryAfter: seconds)
    case .roleTooWide(let lacks):
        return .forbidden(
            "The role is beyond what this credential may give; for an admin it lacks: "
                + "\(lacks.joined(separator: ", ")).")
    case nil: break
    }
    if let limit = error as? MailLimitReached {
        return .rateLimited(limit.detail, limit: limit.limit, retryAfter: limit.seconds)
    }
    return storageProblem(error)
}
