/** Lines with the height of what will stand there, so that nothing jumps. */
export function Skeleton({ label, lines = 3, groups = 1 }: { label: string; lines?: number; groups?: number }) {
  return (
    <div role="status" aria-label={label}>
      {Array.from({ length: groups }, (_, group) => (
        <div className="skeleton" key={group}>
          {Array.from({ length: lines }, (_unused, line) => (
            <i key={line} />
          ))}
        </div>
      ))}
    </div>
  );
}
