import Domain
import Storage

extension InviteFilter {
    /// The parameters of the list, which are also the members of an action's `filter`.
    static let parameters: [QueryParameter] = [
        .search,
        QueryParameter("status", .enumeration(of: Invite.Status.self)),
        QueryParameter(
            "delivery_status", .array(of: .enumeration(of: Invite.DeliveryStatus.self), max: 4),
            "One, or several with commas between."),
        QueryParameter("external_id", .externalID, "Only invites that give this id."),
        QueryParameter("job_id", .uuid, "Only those of this job, while its rows are kept."),
    ]

    init(_ filter: ListFilter) {
        let input = filter.input
        self.init(
            status: input.optionalString("status").flatMap(Invite.Status.init),
            text: input.optionalString("q"))
        deliveries = input.optionalStrings("delivery_status")?
            .compactMap(Invite.DeliveryStatus.init)
        externalID = input.optionalString("external_id")
        job = input.optionalUUID("job_id")
    }
}
