/* Lookups by the ZOOM C API: lookups HOST DATABASE QUERY COUNT SESSIONS RECORDS
 * Each lookup fetches one of RECORDS records; its number replaces %07d in the query (PQF, or CQL if HOST begins with http: and
 * is asked over SRU by GET). A single session runs them one after another; several run concurrently, driven by ZOOM_event.
 * Exits with 1 if a record is missing. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaz/zoom.h>

struct work {
    const char *query;
    int is_sru, count, records, begun, delivered;
};

static ZOOM_resultset search(struct work *work, ZOOM_connection session)
{
    char query[256];
    snprintf(query, sizeof query, work->query, 1 + work->begun++ % work->records);
    if (work->is_sru) {
        ZOOM_query cql = ZOOM_query_create();
        ZOOM_resultset found;
        ZOOM_query_cql(cql, query);
        found = ZOOM_connection_search(session, cql);
        ZOOM_query_destroy(cql);
        return found;
    }
    return ZOOM_connection_search_pqf(session, query);
}

static void take(struct work *work, ZOOM_connection session, ZOOM_resultset found)
{
    const char *reason, *more;
    int octets = 0;
    ZOOM_record record = NULL;

    if (ZOOM_connection_error(session, &reason, &more))
        fprintf(stderr, "%s: %s\n", reason, more);
    else if (ZOOM_resultset_size(found) == 1)
        record = ZOOM_resultset_record(found, 0);
    if (record && ZOOM_record_get(record, "raw", &octets) && octets > 0)
        work->delivered++;
    ZOOM_resultset_destroy(found);
}

/* When a session's search has ended, takes its result set and starts the next search. */
static void side_by_side(struct work *work, ZOOM_connection *all, int sessions)
{
    ZOOM_resultset *found = calloc(sessions, sizeof *found);
    int index;

    for (index = 0; index < sessions; index++)
        found[index] = work->begun < work->count ? search(work, all[index]) : NULL;
    while ((index = ZOOM_event(sessions, all)) != 0) {
        index--;
        if (ZOOM_connection_last_event(all[index]) != ZOOM_EVENT_END || !found[index])
            continue;
        take(work, all[index], found[index]);
        found[index] = work->begun < work->count ? search(work, all[index]) : NULL;
    }
    free(found);
}

int main(int argc, char **argv)
{
    struct work work = {0};
    ZOOM_options options = ZOOM_options_create();
    ZOOM_connection *all;
    char url[256];
    int sessions;

    if (argc != 7)
        return 2;
    work.query = argv[3];
    work.count = atoi(argv[4]);
    sessions = atoi(argv[5]);
    work.records = atoi(argv[6]);
    work.is_sru = strncmp(argv[1], "http:", 5) == 0;
    if (work.is_sru) {
        snprintf(url, sizeof url, "%s/%s", argv[1], argv[2]);
        ZOOM_options_set(options, "sru", "get");
        ZOOM_options_set(options, "sru_version", "1.1");
        ZOOM_options_set(options, "schema", "marcxml");
    }
    ZOOM_options_set(options, "databaseName", argv[2]);
    ZOOM_options_set(options, "preferredRecordSyntax", "usmarc");
    ZOOM_options_set(options, "count", "1");
    ZOOM_options_set(options, "async", sessions > 1 ? "1" : "0");
    all = calloc(sessions, sizeof *all);
    for (int index = 0; index < sessions; index++) {
        all[index] = ZOOM_connection_create(options);
        ZOOM_connection_connect(all[index], work.is_sru ? url : argv[1], 0);
    }
    if (sessions > 1)
        side_by_side(&work, all, sessions);
    else
        while (work.begun < work.count)
            take(&work, all[0], search(&work, all[0]));
    for (int index = 0; index < sessions; index++)
        ZOOM_connection_destroy(all[index]);
    free(all);
    ZOOM_options_destroy(options);
    return work.delivered != work.count;
}
