"""What a stream needs next to a model: rows that wait for labels, figures, events and alarms."""

from mist.streaming.alarms import Alarm, AlarmRules, Alarms, read_rules
from mist.streaming.delayed_labels import DelayedLabels
from mist.streaming.kept_rows import Kept, KeptRows
from mist.streaming.presence import Presence
from mist.streaming.stream_watch import StreamWatch

__all__ = [
    "Alarm",
    "AlarmRules",
    "Alarms",
    "DelayedLabels",
    "Kept",
    "KeptRows",
    "Presence",
    "StreamWatch",
    "read_rules",
]
