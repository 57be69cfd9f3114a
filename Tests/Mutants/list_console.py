"""What the console's review found: crashes by role, acts out of sight, falsehoods, what is lost, wrong names."""

from mutant import mutant

MUTANTS = [
    mutant(
        "B1", "a list without bulk actions calls what is not there",
        "browser:test_a_role_without_bulk_actions_sees_the_rows_of_keys_and_invites",
        ("Public/lib/ui/list.js",
         "\tconst chosen = spec.bulk && !page.isGone ? rowSelection({ ...spec, named, all: everyOne }, again) : null\n",
         "\tconst chosen = spec.bulk && !page.isGone && rowSelection({ ...spec, named, all: everyOne }, again)\n"),
    ),
    mutant(
        "B1", "a page crashes in a role of the platform",
        "browser:test_each_page_opens_in_each_role_of_the_platform",
        ("Public/lib/ui/list.js",
         "\tconst chosen = spec.bulk && !page.isGone ? rowSelection({ ...spec, named, all: everyOne }, again) : null\n",
         "\tconst chosen = spec.bulk && !page.isGone && rowSelection({ ...spec, named, all: everyOne }, again)\n"),
    ),
    mutant(
        "B1", "the navigation of a tenant's operator leads where they may not go",
        "browser:test_each_page_opens_in_each_role_of_a_tenant",
        ("Public/lib/core/navigation.js",
         "\tisAllowed(\"readPolicy\") && place(\"Providers\", \"providers\", \"door\", \"r\"),\n",
         "\tplace(\"Providers\", \"providers\", \"door\", \"r\"),\n"),
    ),
    mutant(
        "B2", "the acts of a row go out of sight with a wide table",
        "browser:test_every_act_of_every_row_can_be_reached_at_1280_pixels",
        ("Public/styles/main/tables.css",
         "overflow: visible; position: sticky; inset-inline-end: 0; z-index: 1 }",
         "overflow: visible }"),
    ),
    mutant(
        "B2", "the menu of a row opens without the focus",
        "browser:test_every_act_of_every_row_can_be_reached_at_1280_pixels",
        ("Public/lib/rows/menu.js",
         "\titems[0].focus()\n",
         ""),
    ),
    mutant(
        "B2", "the menu of a row reaches beyond the window",
        "browser:test_every_act_of_every_row_can_be_reached_at_1280_pixels",
        ("Public/lib/rows/menu.js",
         "menu.style.left = `${Math.max(8, Math.min(left, innerWidth - width - 8))}px`",
         "menu.style.left = `${at.left}px`"),
    ),
    mutant(
        "B3", "whoever was not refused was let in",
        "browser:test_a_decision_says_what_happened_for_each_outcome",
        ("Public/lib/reasons.js",
         "\t: translate(OUTCOMES[outcome] ?? words(outcome)))\n",
         "\t: translate(outcome === \"refused\" ? \"Was turned away.\" : \"Was let in.\"))\n"),
    ),
    mutant(
        "B3", "who waits for approval was let in",
        "browser:test_who_waits_for_approval_was_not_let_in",
        ("Public/pages/decisions.js",
         "const waits = person?.status === \"pending\" && person.source === \"approval\"",
         "const waits = false"),
    ),
    mutant(
        "B4", "a stale policy is refused for its read-only version",
        "PolicyTests/`a policy on an older version is a 412 that names the one in force`",
        ("Sources/Product/API/Policies/PolicyEndpoints.swift",
         "    private static func check(_ call: Call, _ current: PolicyRow) throws {\n"
         "        do {",
         "    private static func check(_ call: Call, _ current: PolicyRow) throws {\n"
         "        if MUTATED { try call.input.checkRepeated(against: current.json) }\n"
         "        do {"),
    ),
    mutant(
        "B4", "who publishes second is not told of the first",
        "browser:test_of_two_who_publish_the_second_sees_what_the_first_did_and_goes_on_top",
        ("Public/pages/tenant/policy.js",
         "if (error.status !== 412) return false",
         "return false"),
    ),
    mutant(
        "B4", "mine on top undoes what the other published",
        "browser:test_of_two_who_publish_the_second_sees_what_the_first_did_and_goes_on_top",
        ("Public/pages/tenant/policy.js",
         "\t\t\t&& button(\"Put mine on top\", act(() => publish(current, values)), { look: \".tiny\" }),\n",
         "\t\t\t&& button(\n"
         "\t\t\t\t\"Put mine on top\", act(() => publish(current, { ...seen, ...values, version: current.version })),\n"
         "\t\t\t\t{ look: \".tiny\" },\n"
         "\t\t\t),\n"),
    ),
    mutant(
        "B4", "a third who publishes in between is not told of",
        "browser:test_of_two_who_publish_the_second_sees_what_the_first_did_and_goes_on_top",
        ("Public/pages/tenant/policy.js",
         "\t\t\tif (error.status === 412) return loadPart(\n"
         "\t\t\t\tnode, () => drawClash(page, node, { seen, values, publish, done }),\n"
         "\t\t\t)\n",
         "\t\t\t\n"),
    ),
    mutant(
        "B4", "who takes the newest keeps the own change",
        "browser:test_one_may_take_the_newest_policy_and_drop_the_own_change",
        ("Public/pages/tenant/policy.js",
         "\t\t\tloadPart(\n"
         "\t\t\t\tclash,\n"
         "\t\t\t\t() =>\n"
         "\t\t\t\t\tdrawClash(\n"
         "\t\t\t\t\t\tpage, clash, { seen: one, values, publish, done: (...made) => (built.forget(), done(...made)) },\n"
         "\t\t\t\t\t),\n"
         "\t\t\t)\n",
         "\t\t\tloadPart(clash, () => drawClash(page, clash, { seen: one, values, publish, done }))\n"),
    ),
    mutant(
        "B4", "an edit of a user is lost once another edited it",
        "browser:test_an_edit_of_what_another_changed_is_saved_on_top_of_it",
        ("Public/lib/form/form.js",
         "error.status === 412 && refresh && button(\"Save mine on top\", onTop, { look: \".tiny\" }),",
         ""),
    ),
    mutant(
        "B5", "what was typed is not kept",
        "browser:test_what_was_typed_is_there_again_after_the_session_ended",
        ("Public/lib/form/form.js",
         "\tif (kept) node.addEventListener(\"input\", kept.keep)\n",
         ""),
    ),
    mutant(
        "B5", "the form is not open again after the sign-in",
        "browser:test_what_was_typed_is_there_again_after_the_session_ended",
        ("Public/app/frame.js",
         "const again = document.querySelector(\"dialog[data-new]\") && !query().new ? { ...query(), "
         "new: 1 } : query()",
         "const again = query()"),
    ),
    mutant(
        "B5", "a policy is lost with the session",
        "browser:test_a_policy_and_a_new_key_survive_the_end_of_the_session_too",
        ("Public/pages/tenant/policy.js",
         "values: one, draft: \"policy\", done,",
         "values: one, done,"),
    ),
    mutant(
        "B5", "a new key is lost with the session",
        "browser:test_a_policy_and_a_new_key_survive_the_end_of_the_session_too",
        ("Public/pages/tenant/keys/new-key.js",
         "\t\tsubmit: \"Create key\", start: asked, cancel: () => leaveFor(`${page.base}/keys`),\n"
         "\t\tdraft: isFilled ? null : \"new key\",\n",
         "\t\tsubmit: \"Create key\", start: asked, cancel: () => leaveFor(`${page.base}/keys`), draft: null,\n"),
    ),
    mutant(
        "B5", "Escape throws away twenty addresses",
        "browser:test_escape_keeps_what_was_typed_for_the_next_time_and_cancel_does_not",
        ("Public/lib/form/dialogs.js",
         "if (!isOver && draft && built.isEdited()) toast(",
         "built.forget()\n"
         "\t\tif (!isOver && draft && built.isEdited()) toast("),
    ),
    mutant(
        "B5", "what was cancelled comes back",
        "browser:test_escape_keeps_what_was_typed_for_the_next_time_and_cancel_does_not",
        ("Public/lib/form/form.js",
         "const giveUp = () => (forget(), cancel())",
         "const giveUp = () => cancel()"),
    ),
    mutant(
        "B5", "an edited policy is left without a question",
        "browser:test_leaving_an_edited_page_asks_and_keeps_a_draft",
        ("Public/app/router.js",
         "if (!samePage && !view.mayLeave && view.current?.isEdited?.() && event.cancelable) {",
         "if (false) {"),
    ),
    mutant(
        "B5", "an edited policy is reloaded without a question",
        "browser:test_leaving_an_edited_page_asks_and_keeps_a_draft",
        ("Public/app/router.js",
         "addEventListener(\"beforeunload\", event => {\n"
         "\tif (!view.mayLeave && view.current?.isEdited?.()) event.preventDefault()\n"
         "})\n",
         ""),
    ),
    mutant(
        "B5", "a draft holds the secret",
        "browser:test_a_draft_holds_no_secret_and_ends_with_the_sign_out",
        ("Public/lib/form/drafts.js",
         "const isKept = ({ field }) => field.type !== \"password\" && !SECRET.test(field.name)",
         "const isKept = () => true"),
    ),
    mutant(
        "B5", "drafts stay after the sign-out",
        "browser:test_a_draft_holds_no_secret_and_ends_with_the_sign_out",
        ("Public/lib/core/session.js",
         "\tsessionStorage.clear()\n",
         ""),
    ),
    mutant(
        "B6", "every id is a decision's first",
        "browser:test_a_pasted_id_opens_what_it_is_of_and_nothing_else_is_made_up",
        ("Public/lib/palette/search.js",
         "draw(known, { isLooking",
         "if (UUID.test(text)) known.unshift(entry(\"Decision\", \"branch\", text, `decisions/${text}`))\n"
         "\t\tdraw(known, { isLooking"),
    ),
    mutant(
        "B6", "Enter before the answer opens nothing",
        "browser:test_a_pasted_id_opens_what_it_is_of_and_nothing_else_is_made_up",
        ("Public/lib/palette/search.js",
         "\t\tif (wantsFirst && entries.length) enter(entries[0])\n",
         ""),
    ),
    mutant(
        "B6", "the platform does not find a decision by its id",
        "DecisionViewTests/`the platform finds a decision by its id, another tenant does not`",
        ("Sources/Product/API/Overview/SearchEndpoint.swift",
         "if items.isEmpty { items = try await decision(text, call) }",
         "if items.isEmpty, !MUTATED { items = try await decision(text, call) }"),
    ),
    mutant(
        "B7", "the admitted lead to those made anew",
        "browser:test_each_number_is_that_of_its_list",
        ("Public/pages/overview.js",
         "decisions(\"created,linked,existing,reserved\")",
         "decisions(\"created\")"),
    ),
    mutant(
        "B7", "the refused of a week lead to those of all time",
        "browser:test_each_number_is_that_of_its_list",
        ("Public/pages/overview.js",
         "\tconst decisions = outcome => `/console/decisions${queryString({ outcome, since: data.since, until: data.until })}`\n",
         "\tconst decisions = outcome => `/console/decisions${queryString({ outcome })}`\n"),
    ),
    mutant(
        "B7", "the tenants lead to a list with the deleted ones",
        "browser:test_each_number_is_that_of_its_list",
        ("Public/pages/overview.js",
         "\t\t\tlook: \"building\", label: \"Tenants\", value: formatNumber(data.tenants),\n"
         "\t\t\thref: \"/console/tenants?status=active,suspended\",\n",
         "\t\t\tlook: \"building\", label: \"Tenants\", value: formatNumber(data.tenants), href: \"/console/tenants\",\n"),
    ),
    mutant(
        "B7", "the users lead to the tenants",
        "browser:test_each_number_is_that_of_its_list",
        ("Public/pages/overview.js",
         "href: own(\"users\") || \"/console/people\" }",
         "href: own(\"users\") || \"/console/tenants\" }"),
    ),
    mutant(
        "B7", "the overview shows verifications alone",
        "browser:test_every_use_of_a_key_counts",
        ("Public/pages/overview.js",
         "\t\tone({ look: \"key\", label: \"Uses of API keys\", value: formatNumber(data.key_uses), href: own(\"keys\") }))\n",
         "\t\tone({ look: \"key\", label: \"Uses of API keys\", value: formatNumber(data.key_verifications), href: own(\"keys\") }))\n"),
    ),
    mutant(
        "B7", "uses by key are not counted, verifications are",
        "KeyVerificationTests/`the uses of a key are counted by the day`",
        ("Sources/Product/Storage/APIKeys/KeyUses+Writing.swift",
         "default: KeyUses.Hour(start: hour.start)].uses += hour.uses",
         "default: KeyUses.Hour(start: hour.start)].uses += MUTATED ? hour.verified : hour.uses"),
    ),
    mutant(
        "B7", "uses whose commit is unknown are counted again",
        "UsesAfterOutageTests/`uses whose commit is written and not confirmed are not counted twice`",
        ("Sources/Product/Storage/APIKeys/KeyUses+Writing.swift",
         "if (error as? PostgresError)?.kind != .commitUnknown {",
         "if MUTATED || (error as? PostgresError)?.kind != .commitUnknown {"),
    ),
    mutant(
        "B7", "uses whose writing was cut off are lost",
        "UsesAfterOutageTests/`uses whose writing was cut off before its commit are counted the next time`",
        ("Sources/Product/Storage/APIKeys/KeyUses+Writing.swift",
         "keyUses.restore(batch, of: tenant)",
         "if !MUTATED { keyUses.restore(batch, of: tenant) }"),
    ),
    mutant(
        "B7", "of several outcomes the first is listed",
        "DecisionViewTests/`decisions are listed by several outcomes and between two times`",
        ("Sources/Product/Storage/Provisioning/DecisionStore.swift",
         "                outcomes.count == 1\n",
         "                MUTATED || outcomes.count == 1\n"),
    ),
    mutant(
        "B7", "decisions are listed from before the period",
        "DecisionViewTests/`decisions are listed by several outcomes and between two times`",
        ("Sources/Product/Storage/Provisioning/DecisionStore.swift",
         "if let since { sql += \" AND created_at >= \\(since)\" }",
         "if let since, !MUTATED { sql += \" AND created_at >= \\(since)\" }"),
    ),
    mutant(
        "B7", "decisions are listed from after the period",
        "DecisionViewTests/`decisions are listed by several outcomes and between two times`",
        ("Sources/Product/Storage/Provisioning/DecisionStore.swift",
         "if let until { sql += \" AND created_at < \\(until)\" }",
         "if let until, !MUTATED { sql += \" AND created_at < \\(until)\" }"),
    ),
    mutant(
        "B8", "the chart has days of UTC under the reader's labels",
        "browser:test_the_days_are_those_of_the_readers_zone",
        ("Public/pages/overview.js",
         "\treturn get(ZONE).catch(error => {\n",
         "\treturn get().catch(error => {\n"),
        ("Public/pages/overview.js",
         "\t\t: { month: \"short\", day: \"numeric\", timeZone }\n",
         "\t\t: { month: \"short\", day: \"numeric\" }\n"),
    ),
    mutant(
        "B8", "a day begins at midnight of UTC",
        "OverviewTests/`a day of the overview begins at midnight of the time zone`",
        ("Sources/Product/Storage/Overview/OverviewStore.swift",
         "try await overviewStarts(window, at: now)",
         "try await overviewStarts(MUTATED ? .days(7, zone: \"UTC\") : window, at: now)"),
    ),
    mutant(
        "B8", "a period begins at midnight of UTC",
        "browser:test_a_period_is_chosen_by_days_of_the_readers_zone",
        ("Public/lib/chart/period.js",
         "value && midnight(`${value}T00:00`, more).toISOString()",
         "value && new Date(Date.parse(value) + more * 86400000).toISOString()"),
    ),
    mutant(
        "B9", "a row loses the focus when the table is drawn anew",
        "browser:test_a_row_keeps_the_focus_when_the_table_is_drawn_anew",
        ("Public/lib/ui/focus.js",
         "if (!place || !isLost) return\n",
         "return\n"),
    ),
    mutant(
        "B9", "the next page has the focus nowhere",
        "browser:test_the_next_page_has_the_focus_at_its_table",
        ("Public/lib/ui/list.js",
         "\t\ttable.focus({ preventScroll: true })\n",
         ""),
    ),
    mutant(
        "B10", "a rotated key is rolled back at once",
        "browser:test_what_ends_a_secret_or_a_link_is_asked_first",
        ("Public/pages/tenant/keys/list.js",
         "\t\tone.previous && mayHere(page, \"writeKeys\") && { text: \"Roll back\", run: () => rollBack(path, one, reload) },\n",
         "\t\tone.previous && mayHere(page, \"writeKeys\")\n"
         "\t\t\t&& { text: \"Roll back\", run: () => api(`${path}/rollback`, { method: \"POST\" }).then(reload) },\n"),
    ),
    mutant(
        "B10", "an old secret is cut at once",
        "browser:test_what_ends_a_secret_or_a_link_is_asked_first",
        ("Public/pages/tenant/keys/list.js",
         "\t\tone.previous && mayHere(page, \"writeKeys\") && { text: \"End old secret\", run: () => cut(path, one, reload) },\n",
         "\t\tone.previous && mayHere(page, \"writeKeys\")\n"
         "\t\t\t&& { text: \"End old secret\", run: () => api(`${path}/cut`, { method: \"POST\" }).then(reload) },\n"),
    ),
    mutant(
        "B10", "an invite is revoked at once",
        "browser:test_what_ends_a_secret_or_a_link_is_asked_first",
        ("Public/pages/tenant/invites/list.js",
         "\t\tone.status === \"pending\" && { text: \"Revoke\", run: () => revoke(path, one, reload) },\n",
         "\t\tone.status === \"pending\"\n"
         "\t\t\t&& { text: \"Revoke\", run: () => api(`${path}/${one.id}/revoke`, { method: \"POST\" }).then(reload) },\n"),
    ),
    mutant(
        "B10", "the link of an invite is replaced at once",
        "browser:test_what_ends_a_secret_or_a_link_is_asked_first",
        ("Public/pages/tenant/invites/list.js",
         "\t\t{\n"
         "\t\t\ttext: \"Resend\",\n"
         "\t\t\trun: () => resend(one, { title: t`Resend the invite of ${one.email}?`, act: \"Resend\" }, reload),\n"
         "\t\t},\n",
         "\t\t{ text: \"Resend\", run: () => api(`${path}/${one.id}/resend`, { method: \"POST\" }).then(reload) },\n"),
    ),
    mutant(
        "B11", "what was done to many cannot be taken back",
        "browser:test_many_that_were_suspended_or_deleted_together_come_back_by_z",
        ("Public/lib/chooser.js",
         "if (one.back && done.length) undoable(said, () => takeBack(node, one, done, spec))\n"
         "\telse toast(",
         "toast("),
    ),
    mutant(
        "B11", "those who wait are approved one by one",
        "browser:test_those_who_wait_are_approved_together",
        ("Public/pages/tenant/users/list.js",
         "\t\t\tisAllowed(\"editUsers\") && { text: \"Approve\", fits: isWaiting, verb: \"approve\" },\n",
         ""),
    ),
    mutant(
        "B11", "no more than a page can be chosen",
        "browser:test_all_that_match_are_chosen_beyond_the_page_and_their_number_is_typed",
        ("Public/lib/ui/selection.js",
         "const isMore = every.checked && whole && (!whole.exact || whole.value > items.length)",
         "const isMore = false"),
    ),
    mutant(
        "B11", "many are changed without their number",
        "browser:test_all_that_match_are_chosen_beyond_the_page_and_their_number_is_typed",
        ("Public/lib/chooser.js",
         "type: items.length > WIDE ? String(items.length) : null",
         "type: null"),
    ),
    mutant(
        "B12", "by approval everyone waits",
        "browser:test_a_mode_of_the_policy_says_what_it_asks_for_and_warns_without_a_domain",
        ("Public/pages/tenant/policy.js",
         "Approval: any address that is vouched for, once an operator approves each",
         "Approval: everyone waits for a yes"),
    ),
    mutant(
        "B12", "a mode does not say what it asks for",
        "browser:test_a_mode_of_the_policy_says_what_it_asks_for_and_warns_without_a_domain",
        ("Public/pages/tenant/policy.js",
         "\treplaceContent(node, text && h(\"p.hint\", text))\n",
         "\treplaceContent(node)\n"),
    ),
    mutant(
        "B12", "no warning where there is no verified domain",
        "browser:test_a_mode_of_the_policy_says_what_it_asks_for_and_warns_without_a_domain",
        ("Public/pages/tenant/policy.js",
         "if (mode !== \"domain\") return",
         "return"),
    ),
    mutant(
        "B13", "a provider without authority is an address that is not verified",
        "browser:test_a_refusal_for_want_of_authority_says_so_and_what_to_do",
        ("Public/lib/reasons.js",
         "const lacksAuthority = ({ reason, trace }) => reason === \"email_unverified\"",
         "const lacksAuthority = ({ reason, trace }) => reason === \"never\""),
    ),
    mutant(
        "B13", "the steps of a trace contradict each other",
        "browser:test_a_refusal_for_want_of_authority_says_so_and_what_to_do",
        ("Public/lib/reasons.js",
         "\"Does anything vouch for the address?\"",
         "\"Is the address vouched for?\""),
        ("Public/lib/reasons.js",
         "\"May the people of a verified domain come in?\"",
         "\"Is the domain verified?\""),
    ),
    mutant(
        "B13", "the step of the domain does not say what lacked",
        "browser:test_a_refusal_for_want_of_authority_says_so_and_what_to_do",
        ("Public/lib/reasons.js",
         "\"not authoritative\": \"The domain is verified, but the provider is not its authority.\",",
         ""),
    ),
    mutant(
        "B13", "a trace has bare ids",
        "browser:test_a_refusal_for_want_of_authority_says_so_and_what_to_do",
        ("Public/lib/reasons.js",
         "\t(names.has(part) ? h(\"a\", { href: names.get(part).href }, userText(names.get(part).name)) : part && userText(part)))\n",
         "\tpart && userText(part))\n"),
    ),
    mutant(
        "B14", "joiners of Persian and emoji are escaped",
        "browser:test_names_with_joiners_are_written_as_they_are",
        ("Public/lib/core/dom.js",
         "\tif (isJoiner && BEFORE_JOINER.test(whole.slice(0, at)) && "
         "AFTER_JOINER.test(whole.slice(at + 1))) return char\n",
         ""),
    ),
    mutant(
        "B14", "joiners between Latin letters are not seen",
        "browser:test_names_with_joiners_are_written_as_they_are",
        ("Public/lib/core/dom.js",
         "if (isJoiner && BEFORE_JOINER.test(whole.slice(0, at)) && AFTER_JOINER.test(whole.slice(at "
         "+ 1))) return char",
         "if (isJoiner) return char"),
    ),
    mutant(
        "B15", "Ctrl K is dead without Latin letters",
        "browser:test_letter_keys_work_on_a_layout_without_latin_letters",
        ("Public/app/shortcuts.js",
         "const key = letterOf(event)",
         "const { key } = event"),
    ),
    mutant(
        "B15", "letter keys are dead without Latin letters",
        "browser:test_letter_keys_work_on_a_layout_without_latin_letters",
        ("Public/app/shortcuts.js",
         "!/^[/?a-zA-Z]$/.test(key)) return",
         "!/^[/?a-zA-Z]$/.test(event.key)) return"),
    ),
    mutant(
        "B15", "a Mac is offered Ctrl K",
        "browser:test_on_a_mac_the_palette_is_offered_by_its_own_key",
        ("Public/app/frame.js",
         "isMac ? \"⌘ K\" : \"Ctrl K\"",
         "\"Ctrl K\""),
    ),
    mutant(
        "B16", "a tenant is kept before it is known",
        "browser:test_a_tenant_that_is_not_there_does_not_stay_in_the_navigation",
        ("Public/app/frame.js",
         "\tconst tab = location.pathname.split(\"/\")[4] ?? \"users\"\n",
         "\tconst tab = location.pathname.split(\"/\")[4] ?? \"users\"\n"
         "\tsetPreference(\"tenant\", slug)\n"),
        ("Public/app/tenant.js",
         "\tif (preferences().tenant === slug) setPreference(\"tenant\", null)\n",
         ""),
    ),
    mutant(
        "B16", "the navigation leads into the tenant of the address",
        "browser:test_a_tenant_that_is_not_there_does_not_stay_in_the_navigation",
        ("Public/lib/core/navigation.js",
         "export const knownSlug = slug => (unknownSlugs.has(slug) ? null : slug)\n",
         "export const knownSlug = slug => slug\n"),
    ),
    mutant(
        "B16", "no link leads back from what is not there",
        "browser:test_a_tenant_that_is_not_there_does_not_stay_in_the_navigation",
        ("Public/app/router.js",
         "\t\tconst link = error.status === 404 && (await import(\"../lib/seldom.js\")).wayBack(route, unknownSlugs)\n",
         "\t\tconst link = null\n"),
    ),
    mutant(
        "B16", "no link leads from a lost user to the users",
        "browser:test_a_tenant_that_is_not_there_does_not_stay_in_the_navigation",
        ("Public/lib/seldom/gone.js",
         "if (slug && !unknown.has(slug)) {",
         "if (false) {"),
    ),
    mutant(
        "B17", "a filter that is not taken is a red panel",
        "browser:test_a_filter_that_the_server_does_not_take_is_said_by_its_name",
        ("Public/lib/ui/list.js",
         "\t\tif (!wrong.length) return showState(table, \"error\", { error, again })\n",
         "\t\treturn showState(table, \"error\", { error, again })\n"),
    ),
    mutant(
        "B17", "an order that is not known is a red panel",
        "browser:test_a_filter_that_the_server_does_not_take_is_said_by_its_name",
        ("Public/lib/ui/list.js",
         "if (error.errors?.some(one => one.pointer === \"?sort\")) return change({ sort: \"\" }, { "
         "replace: true })",
         ""),
    ),
    mutant(
        "B17", "decisions are not found by a part or a reference",
        "browser:test_a_refusal_is_found_by_the_reference_that_the_person_was_told",
        ("Public/pages/decisions.js",
         "\t\tsearch: \"Part of an address, or a reference\",\n",
         ""),
    ),
    mutant(
        "B18", "the file begins with a dot",
        "browser:test_what_is_downloaded_has_a_name_and_a_form_that_a_program_reads",
        ("Public/lib/ui/secret.js",
         "name: \"gatehouse.env\"",
         "name: \".env\""),
    ),
    mutant(
        "B18", "the links of invites are one variable",
        "browser:test_what_is_downloaded_has_a_name_and_a_form_that_a_program_reads",
        ("Public/pages/tenant/invites/inviting.js",
         "\t\tfile: {\n"
         "\t\t\tname: \"invites.csv\", type: \"text/csv\", label: \"Download CSV\",\n"
         "\t\t\ttext: line(\"email\", \"link\") + linked.map(one => line(one.email, "
         "one.invite.accept_url)).join(\"\"),\n"
         "\t\t},\n",
         "\t\tname: \"INVITES\",\n"),
    ),
    mutant(
        "B19", "marks become dashes",
        "browser:test_a_slug_is_made_of_letters_with_marks_and_asked_for_without_latin_ones",
        ("Public/pages/tenants.js",
         ".replace(/\\p{M}/gu, \"\")",
         ""),
    ),
    mutant(
        "B19", "letters without parts become dashes",
        "browser:test_a_slug_is_made_of_letters_with_marks_and_asked_for_without_latin_ones",
        ("Public/pages/tenants.js",
         "one => LATIN[one] ?? \"-\"",
         "() => \"-\""),
    ),
    mutant(
        "B19", "an empty slug is not explained",
        "browser:test_a_slug_is_made_of_letters_with_marks_and_asked_for_without_latin_ones",
        ("Public/pages/tenants.js",
         "\t\thint.textContent = translate(name.value.trim() && !slug.value ? BY_HAND : HINT)\n",
         ""),
    ),
    mutant(
        "B20", "an operator's tenant is not offered",
        "browser:test_a_tenant_is_chosen_by_its_name_for_an_operator_and_a_provider",
        ("Public/pages/operators.js",
         "\t\t\t&& [\n"
         "\t\t\t\t\"scope.tenant_id\", \"Only this tenant\",\n"
         "\t\t\t\t{ type: \"tenant\", hint: \"Its name or slug; empty is the whole platform.\" },\n"
         "\t\t\t],\n",
         "\t\t\t&& [\"scope.tenant_id\", \"Only this tenant\", { hint: \"Its name or slug; empty is the whole platform.\" }],\n"),
    ),
    mutant(
        "B20", "a provider's tenant is not offered",
        "browser:test_a_tenant_is_chosen_by_its_name_for_an_operator_and_a_provider",
        ("Public/pages/providers.js",
         "\t\t!ownTenant()\n"
         "\t\t\t&& [\n"
         "\t\t\t\t\"tenant\", \"Only for this tenant\",\n"
         "\t\t\t\t{ type: \"tenant\", hint: \"Its name or slug; empty is the whole platform.\" },\n"
         "\t\t\t],\n",
         "\t\t!ownTenant() && [\"tenant\", \"Only for this tenant\", { hint: \"Its name or slug; empty is the whole platform.\" }],\n"),
    ),
    mutant(
        "B20", "the slug is sent where an id is wanted",
        "browser:test_a_tenant_is_chosen_by_its_name_for_an_operator_and_a_provider",
        ("Public/lib/form/field.js",
         "settle: type === \"tenant\" ? () => settleTenant(control) : null,",
         "settle: null,"),
    ),
    mutant(
        "B20", "an operator is of one tenant, without its name",
        "browser:test_a_tenant_is_chosen_by_its_name_for_an_operator_and_a_provider",
        ("Public/pages/operators.js",
         "userText(name)) : \"Whole platform\"",
         "\"One tenant\") : \"Whole platform\""),
    ),
    mutant(
        "B21", "a role that may not is offered the form of a key",
        "browser:test_a_role_that_may_not_create_keys_is_told_so_before_the_form",
        ("Public/pages/tenant/keys/new-key.js",
         "\tif (!mayHere(page, \"writeKeys\")) {\n",
         "\tif (false) {\n"),
    ),
    mutant(
        "B21", "a tenant's admin has no overview in the navigation",
        "browser:test_the_overview_of_a_tenants_admin_is_in_the_navigation_and_speaks_of_that_tenant",
        ("Public/lib/core/navigation.js",
         "\tplace(\"Overview\", \"\", \"home\", \"o\", true),\n",
         "\t!ownTenant() && place(\"Overview\", \"\", \"home\", \"o\", true),\n"),
    ),
    mutant(
        "B21", "a tenant's admin is to open a tenant",
        "browser:test_the_overview_of_a_tenants_admin_is_in_the_navigation_and_speaks_of_that_tenant",
        ("Public/pages/overview/attention.js",
         "\t\t!ownTenant() && isAllowed(\"createTenant\")\n"
         "\t\t\t&& [done.tenant,",
         "\t\t[done.tenant,"),
    ),
    mutant(
        "B21", "a deleted tenant offers what it cannot do",
        "browser:test_of_a_deleted_tenant_and_user_nothing_is_made_or_ended",
        ("Public/app/tenant.js",
         "const isGone = one.status === \"deleted\"",
         "const isGone = false"),
    ),
    mutant(
        "B21", "a deleted user offers what it cannot do",
        "browser:test_of_a_deleted_tenant_and_user_nothing_is_made_or_ended",
        ("Public/pages/tenant/users/user.js",
         "const lives = one.status !== \"deleted\" && !page.isGone",
         "const lives = !page.isGone"),
    ),
    mutant(
        "B22", "a list stays offline",
        "browser:test_a_list_and_a_page_come_back_by_themselves_after_being_offline",
        ("Public/lib/core/widgets.js",
         "\tif (again && error?.status === 0) addEventListener(\"online\", () => body.isConnected && "
         "again(), { once: true })\n",
         ""),
    ),
    mutant(
        "B22", "a list that failed speaks of what was typed",
        "browser:test_a_list_and_a_page_come_back_by_themselves_after_being_offline",
        ("Public/lib/core/api.js",
         "detail: method === \"GET\" ? \"It is asked again by itself once the connection is back.\"\n"
         "\t\t\t\t: ",
         "detail: "),
    ),
    mutant(
        "B22", "a dialog does not say that one is offline",
        "browser:test_a_list_and_a_page_come_back_by_themselves_after_being_offline",
        ("Public/lib/form/form.js",
         "\tif (status === 0) return t`${translate(title)}. ${translate(message)}`\n",
         ""),
    ),
    mutant(
        "B23", "times stand still",
        "browser:test_times_go_on_and_the_exact_one_is_in_sight",
        ("Public/lib/core/times.js",
         "\t\tif (node.textContent !== said) node.textContent = said\n",
         ""),
    ),
    mutant(
        "B23", "the exact time is a tooltip in the log and a decision",
        "browser:test_times_go_on_and_the_exact_one_is_in_sight",
        ("Public/lib/core/times.js",
         "export const exactTimeNode = iso => [h(\n"
         "\t\"time\", { dateTime: iso, title: new Translated(full.format(new Date(iso))) }, formatExact(iso),\n"
         "),\n"
         "\th(\"span.sub\", h(\"time\", { dateTime: iso, \"data-ago\": \"\" }, ago(iso)))]\n",
         "export const exactTimeNode = iso => timeNode(iso)\n"),
    ),
    mutant(
        "B23", "exact times cannot be chosen",
        "browser:test_times_go_on_and_the_exact_one_is_in_sight",
        ("Public/lib/core/times.js",
         "\tconst isExact = preferences().times === \"exact\"\n",
         "\tconst isExact = false\n"),
    ),
    mutant(
        "B24", "a language without a file is a blank page",
        "browser:test_a_language_without_a_catalogue_is_english",
        ("Public/app.js",
         "if (language !== \"en\") await import(`./lang/${language}.js`).then(one => setCatalogue(one.default), () => {})\n",
         "if (language !== \"en\") await import(`./lang/${language}.js`).then(one => setCatalogue(one.default))\n"),
    ),
    mutant(
        "B25", "providers have two spellings",
        "browser:test_names_are_spelled_the_same_in_cells_filters_and_changes",
        ("Public/lib/core/i18n.js",
         "const NAMES = { ...PROVIDERS, api_key:",
         "const NAMES = { api_key:"),
    ),
    mutant(
        "B25", "reasons stand as codes in cells",
        "browser:test_names_are_spelled_the_same_in_cells_filters_and_changes",
        ("Public/pages/decisions.js",
         "\t\t\t[\"Reason\", one => (one.reason ? filterLink(\"reason\", one.reason, words(one.reason)) : noValue())],\n",
         "\t\t\t[\"Reason\", one => (one.reason ? filterLink(\"reason\", one.reason, one.reason) : noValue())],\n"),
    ),
    mutant(
        "B25", "times stand raw in changes",
        "browser:test_names_are_spelled_the_same_in_cells_filters_and_changes",
        ("Public/pages/audit.js",
         "\tif (ISO.test(value)) return formatDay(value, { dateStyle: \"medium\", timeStyle: \"medium\" })\n",
         ""),
    ),
    mutant(
        "B25", "codes stand raw in changes",
        "browser:test_names_are_spelled_the_same_in_cells_filters_and_changes",
        ("Public/pages/audit.js",
         "return CODES.test(field) ? words(value) : String(value)",
         "return String(value)"),
    ),
    mutant(
        "B25", "a change of the policy has other names than its form",
        "browser:test_names_are_spelled_the_same_in_cells_filters_and_changes",
        ("Public/pages/audit.js",
         "labels[field] ?? words(field)",
         "words(field)"),
    ),
    mutant(
        "B26", "an error of an address stands at no field",
        "browser:test_an_error_says_what_it_is_about_at_its_field",
        ("Public/pages/tenant/invites/inviting.js",
         "type: \"lines\", value: email, named: true, also: [\"email\", \"invites\"],",
         "type: \"lines\", value: email, named: true,"),
    ),
    mutant(
        "B26", "too many addresses are told by the server's words",
        "browser:test_an_error_says_what_it_is_about_at_its_field",
        ("Public/pages/tenant/invites/inviting.js",
         "\t\tif (count > MOST) throw tooMany(count)\n",
         ""),
    ),
    mutant(
        "B26", "a slug that is taken is told at no field",
        "browser:test_an_error_says_what_it_is_about_at_its_field",
        ("Public/lib/form/form.js",
         "if (error.status === 409 && !error.errors) {",
         "if (false) {"),
    ),
    mutant(
        "B26", "an error does not say which line",
        "browser:test_an_error_says_what_it_is_about_at_its_field",
        ("Public/lib/form/field.js",
         "\t\t\treturn lines?.[at] ? t`“${lines[at]}” ${translate(detail)}` : detail\n",
         "\t\t\treturn detail\n"),
    ),
    mutant(
        "B26", "a floor is said as over",
        "browser:test_a_total_that_is_a_floor_is_said_as_one",
        ("Public/lib/core/i18n.js",
         "\tvalue && (value.exact ? countWords(value.value, ...noun) : t`at least ${countWords(value.value, ...noun)}`)\n",
         "\tvalue && (value.exact ? countWords(value.value, ...noun) : t`over ${countWords(value.value, ...noun)}`)\n"),
    ),
    mutant(
        "B26", "until when a user can be restored is not said",
        "browser:test_of_a_deleted_tenant_and_user_nothing_is_made_or_ended",
        ("Public/pages/tenant/users/user.js",
         "t`the account can be restored until ${restorableUntil(one)}.`",
         "\"it can be restored for 30 days.\""),
    ),
    mutant(
        "B26", "what is said of a deleted user touches the card",
        "browser:test_of_a_deleted_tenant_and_user_nothing_is_made_or_ended",
        ("Public/styles/main/base.css",
         ".head, .tabs, .field, form > details, .note, dialog .lead { margin-block-end: 16px }",
         ".head, .tabs, .field, form > details, dialog .lead { margin-block-end: 16px }"),
    ),
    mutant(
        "B27", "the box of a row is small on a phone",
        "browser:test_targets_on_a_phone_are_large_enough",
        ("Public/lib/ui/selection.js",
         "return h(\"td.pick\", h(\"label.target\", box))",
         "return h(\"td.pick\", box)"),
    ),
    mutant(
        "B27", "links are low on a phone",
        "browser:test_targets_on_a_phone_are_large_enough",
        ("Public/styles/main/small.css",
         ".stack td a, .head a, .card dd a, .feed a, :is(.trace, .ways) a, .crumbs a {\n"
         "\t\t\tdisplay: inline-block; min-height: 28px; min-width: 28px; align-content: center }",
         ""),
    ),
    mutant(
        "I1", "a packed file goes out inside a form that is not packed",
        "browser:test_a_packed_csv_is_mapped_and_imported_with_attributes",
        ("Public/pages/tenant/jobs/upload.js",
         "\tconst around = isPacked(file) ? packed : text => text\n",
         "\tconst around = text => text\n"),
    ),
    mutant(
        "A1", "the operator's menu opens no sheet of keys",
        "browser:test_the_operators_menu_opens_the_sheet_of_keys",
        ("Public/lib/palette/account.js", "() => press(\"?\")", "() => {}"),
    ),
]
