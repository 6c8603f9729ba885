package metric

// Names of the metrics. Dashboards, alarms and scripts hold on to them: a name
// is added freely and never changed. docs/METRICS.md says what each one means.
const (
	S3ObjectsListed      = "spate_s3_source_objects_listed_total"
	S3ObjectsCompleted   = "spate_s3_source_objects_completed_total"
	S3ObjectsSkipped     = "spate_s3_source_objects_skipped_total"
	S3ObjectsFailed      = "spate_s3_source_objects_failed_total"
	S3ObjectsOverwritten = "spate_s3_source_objects_overwritten_total"
	S3BytesRead          = "spate_s3_source_bytes_read_total"
	S3BytesDecoded       = "spate_s3_source_bytes_decoded_total"
	S3GetRetries         = "spate_s3_source_get_retries_total"
	S3CodecMismatches    = "spate_s3_source_codec_mismatches_total"

	FeedUnitsPublished    = "spate_feed_units_published_total"
	FeedUnitsReceived     = "spate_feed_units_received_total"
	FeedUnitsAcknowledged = "spate_feed_units_acknowledged_total"
	FeedUnitsFailed       = "spate_feed_units_failed_total"
	FeedDeadLetterUnits   = "spate_feed_dead_letter_units"

	IntakeEvents        = "spate_intake_events_total"
	IntakeEventsIgnored = "spate_intake_events_ignored_total"
	IntakeObjects       = "spate_intake_objects_total"
	IntakeUnits         = "spate_intake_units_total"

	SourceRecords = "spate_source_records_total"
	SourceBytes   = "spate_source_bytes_total"

	DeserRecordsDropped = "spate_deser_records_dropped_total"

	OperatorRecordsIn      = "spate_operator_records_in_total"
	OperatorRecordsOut     = "spate_operator_records_out_total"
	OperatorRecordsDropped = "spate_operator_records_dropped_total"

	SinkRecords = "spate_sink_records_total"
	SinkBytes   = "spate_sink_bytes_total"
	SinkRetries = "spate_sink_retries_total"
	SinkErrors  = "spate_sink_errors_total"
	SinkFlushes = "spate_sink_flushes_total"

	SinkWriteDuration = "spate_sink_write_duration_seconds"
	SinkFlushDuration = "spate_sink_flush_duration_seconds"
	E2ELatency        = "spate_e2e_latency_seconds"

	JobHalted = "spate_job_halted"
)

// Names of the labels.
const (
	LabelPipeline      = "pipeline"       // name of the pipeline
	LabelComponent     = "component"      // the part's name in the pipeline file
	LabelComponentType = "component_type" // its kind, such as s3 or clickhouse
	LabelReason        = "reason"         // from a closed set
)
